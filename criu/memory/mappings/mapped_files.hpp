// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/base/unique_fd.hpp"
#include "images/vma.hpp"

namespace criu::memory {

/// File and offset to map for device memory. If the wanted mapping is only a part of it, see device::Relocated.
struct MappedDeviceFile {
    UniqueFd fd;
    std::uint64_t offset = 0;
    std::uint64_t skipped = 0;
    std::uint64_t whole = 0;
};

/// Source of the files behind a restored process' mappings.
class MappedFiles {
public:
    virtual ~MappedFiles() = default;
    /// Opens the file of a mapping. `flags`: access mode and other flags of open(2).
    virtual UniqueFd openForMapping(const VmaEntry& vma, int flags) = 0;
    /// Returns a descriptor of a mapped socket. Requires that descriptors are at their final numbers.
    virtual UniqueFd placedSocket(const VmaEntry& vma) = 0;
    /// Returns the process' descriptor number of a mapped io_uring. Requires that descriptors are at their final
    /// numbers.
    virtual int placedRing(const VmaEntry& vma) = 0;
    /// Returns the descriptor of a segment, borrowed.
    virtual int segment(const VmaEntry& vma) = 0;
    /// Returns the current file and offset of device memory.
    virtual MappedDeviceFile device(const VmaEntry& vma) = 0;
};

/// Cache that keeps the last file open for further mappings of it.
class FileCache {
public:
    /// `files` must outlive this object.
    explicit FileCache(MappedFiles& files) noexcept : files_(files) {}

    /// Returns a descriptor that is valid until the next call.
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
