// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/base/unique_fd.hpp"
#include "images/vma.hpp"

namespace criu::memory {

/// What to map for device memory.
struct MappedDeviceFile {
    UniqueFd fd;
    std::uint64_t offset = 0;
};

/// Where a restored process gets the files behind its mappings.
class MappedFiles {
public:
    virtual ~MappedFiles() = default;
    /// A descriptor to map a file by. `flags`: access mode and more, as open(2).
    virtual UniqueFd openForMapping(const VmaEntry& vma, int flags) = 0;
    /// A descriptor for a socket that is mapped. When descriptors are at their numbers.
    virtual UniqueFd placedSocket(const VmaEntry& vma) = 0;
    /// The process' own number for an io_uring that is mapped. When descriptors are at their numbers.
    virtual int placedRing(const VmaEntry& vma) = 0;
    /// The descriptor of a shared anonymous segment or memfd; stays the callee's.
    virtual int segment(const VmaEntry& vma) = 0;
    /// Where the memory of a device is now.
    virtual MappedDeviceFile device(const VmaEntry& vma) = 0;
};

/// The same files; what was opened for one mapping stays open for those after it that map the same.
class FileCache {
public:
    /// `files` outlives this object.
    explicit FileCache(MappedFiles& files) noexcept : files_(files) {}

    /// Descriptors stay the cache's, until the next call.
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
