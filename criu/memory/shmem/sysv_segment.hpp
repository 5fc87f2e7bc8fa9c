// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/shm.h>

#include <cstdint>
#include <optional>
#include <span>

#include "criu/base/unique_fd.hpp"
#include "images/ipc-shm.hpp"

/// One segment of System V shared memory (shmget(2)) in the IPC namespace of the calling thread.
namespace criu::memory {

inline constexpr unsigned kShmDestroyed = 01000;  ///< SHM_DEST in a mode: goes away with the last who has it attached
inline constexpr unsigned kShmLocked = 02000;     ///< SHM_LOCKED in a mode

/// What the kernel knows of a segment; nothing if there is none with this id. Throws Error.
[[nodiscard]] std::optional<shmid_ds> findSegment(int id);

/// Makes the segment with its id, key, size, mode and creator, empty. Nothing is left if that fails. Throws Error.
void makeSegment(const IpcShmEntry& entry);

/// Gives a segment to its owner.
void setSegmentOwner(const IpcShmEntry& entry);

/// A segment that criu itself has attached for a moment.
class AttachedSegment {
public:
    /// `flags`: of shmat(2). Throws Error.
    AttachedSegment(int id, std::uint64_t size, int flags);
    ~AttachedSegment() { ::shmdt(at_); }
    AttachedSegment(const AttachedSegment&) = delete;
    AttachedSegment& operator=(const AttachedSegment&) = delete;

    /// `size` of them; behind there is memory up to the end of the page.
    [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte*>(at_), size_}; }

    /// The file that the segment is to the kernel. Throws Error.
    [[nodiscard]] UniqueFd file() const;

private:
    void* at_;
    std::uint64_t size_;
};

/// What is to be added to shmget(2)'s flags for the pages that the file of a segment has: SHM_HUGETLB with their size,
/// or 0. Throws Error.
[[nodiscard]] std::uint32_t segmentHugeFlag(int file);

}  // namespace criu::memory
