// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/shm.h>

#include <cstdint>
#include <optional>
#include <span>

#include "criu/base/unique_fd.hpp"
#include "images/ipc-shm.hpp"

/// Segments of System V shared memory (shmget(2)) in the IPC namespace of the calling thread.
namespace criu::memory {

inline constexpr unsigned kShmDestroyed = 01000;  ///< SHM_DEST in a mode: the kernel removes the segment after the
                                                  ///< last detach
inline constexpr unsigned kShmLocked = 02000;     ///< SHM_LOCKED in a mode

/// Reads the status of a segment; nullopt if no segment has this id. Throws Error.
[[nodiscard]] std::optional<shmid_ds> findSegment(int id);

/// Creates the empty segment with its id, key, size, mode and creator. Leaves nothing on failure. Throws Error.
void makeSegment(const IpcShmEntry& entry);

/// Sets the owner of a segment.
void setSegmentOwner(const IpcShmEntry& entry);

/// Segment that criu has attached temporarily.
class AttachedSegment {
public:
    /// `flags`: flags of shmat(2). Throws Error.
    AttachedSegment(int id, std::uint64_t size, int flags);
    ~AttachedSegment() { ::shmdt(at_); }
    AttachedSegment(const AttachedSegment&) = delete;
    AttachedSegment& operator=(const AttachedSegment&) = delete;

    /// Returns the `size` bytes. Memory after them is mapped up to the end of the page.
    [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte*>(at_), size_}; }

    /// Opens the file behind the segment. Throws Error.
    [[nodiscard]] UniqueFd file() const;

private:
    void* at_;
    std::uint64_t size_;
};

/// Returns the shmget(2) flags for the page size of a segment's file: SHM_HUGETLB with the size, or 0. Throws Error.
[[nodiscard]] std::uint32_t segmentHugeFlag(int file);

}  // namespace criu::memory
