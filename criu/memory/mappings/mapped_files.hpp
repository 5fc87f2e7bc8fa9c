// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

#include "criu/base/unique_fd.hpp"
#include "images/vma.hpp"

namespace criu::memory {

/// File, offset and range of device memory to map. Some drivers accept only larger mappings. If `whole` isn't 0, criu
/// must map `whole` bytes, of which the wanted bytes begin at `skipped` (device::Relocated).
struct MappedDeviceFile {
    UniqueFd fd;
    std::uint64_t offset = 0;
    std::uint64_t skipped = 0;
    std::uint64_t whole = 0;
};

/// Source of files that a restored process maps.
class MappedFiles {
public:
    virtual ~MappedFiles() = default;
    /// Opens the file of a mapping. `flags`: access mode and other flags of open(2).
    virtual UniqueFd openForMapping(const VmaEntry& vma, int flags) = 0;
    /// Returns a descriptor of a mapped socket. All descriptors of the process must have their final numbers.
    virtual UniqueFd placedSocket(const VmaEntry& vma) = 0;
    /// Returns the process' descriptor number of a mapped io_uring; nullopt for a ring that the process creates later.
    /// All descriptors of the process must have their final numbers.
    virtual std::optional<int> placedRing(const VmaEntry& vma) = 0;
    /// Returns a borrowed descriptor of a segment.
    virtual int segment(const VmaEntry& vma) = 0;
    /// Returns the file and offset of device memory after the restore.
    virtual MappedDeviceFile device(const VmaEntry& vma) = 0;
};

/// Cache that keeps the most recently opened file open, because the next mapping often maps the same file.
class FileCache {
public:
    /// `files` must outlive this object.
    explicit FileCache(MappedFiles& files) noexcept : files_(files) {}

    /// Returns a descriptor for mmap(2), which is valid until the next call.
    [[nodiscard]] int file(const VmaEntry& vma);
    [[nodiscard]] int segment(const VmaEntry& vma);

    [[nodiscard]] MappedFiles& files() noexcept { return files_; }

private:
    MappedFiles& files_;
    UniqueFd fd_;
    std::uint64_t file_ = 0;
    int flags_ = 0;
};

}  // namespace criu::memory
