// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/shm.h>

#include <cstdint>
#include <optional>
#include <span>

#include "criu/base/unique_fd.hpp"
#include "images/ipc-shm.hpp"

/// System V shared memory segments (shmget(2)) in the IPC namespace of the calling thread.
namespace criu::memory {

/// SHM_DEST in a mode: the kernel removes the segment after the last detach.
inline constexpr unsigned kShmDestroyed = 01000;
inline constexpr unsigned kShmLocked = 02000;  ///< SHM_LOCKED in a mode: the segment is locked in memory

/// Reads the status of a segment. Returns nullopt if no segment has this id. Throws Error.
[[nodiscard]] std::optional<shmid_ds> findSegment(int id);

/// Creates an empty segment with the id, key, size, mode and creator of `entry`. If it fails, no segment remains.
/// Throws Error.
void makeSegment(const IpcShmEntry& entry);

/// Sets the owner and mode of a segment.
void setSegmentOwner(const IpcShmEntry& entry);

/// Segment that criu has attached to its own memory until this object is destroyed.
class AttachedSegment {
public:
    /// `flags`: flags of shmat(2). Throws Error.
    AttachedSegment(int id, std::uint64_t size, int flags);
    ~AttachedSegment() { ::shmdt(at_); }
    AttachedSegment(const AttachedSegment&) = delete;
    AttachedSegment& operator=(const AttachedSegment&) = delete;

    /// Returns the `size` bytes of the segment. The memory after them is mapped up to the end of the page.
    [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte*>(at_), size_}; }

    /// Opens the kernel's file of the segment for reading. Throws Error.
    [[nodiscard]] UniqueFd file() const;

private:
    void* at_;
    std::uint64_t size_;
};

/// Returns flags of shmget(2) for the page size of a segment's file: SHM_HUGETLB with the size, or 0 for ordinary
/// pages. Throws Error.
[[nodiscard]] std::uint32_t segmentHugeFlag(int file);

}  // namespace criu::memory
