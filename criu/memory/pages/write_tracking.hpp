// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/memory/pages/ranges.hpp"

namespace criu::memory {

/// Tracker of one process' writes to private memory, by a userfaultfd. At a start time, the tracker write-protects all
/// pages; pages that are still protected later are clean. Shared memory, hugetlbfs pages, kernel areas and ranges of
/// other userfaultfds are untracked. Their pages never count as clean.
class WriteTracking {
public:
    /// Becomes the owner of a userfaultfd for which kernel::enableUffdWpAsync() was called.
    explicit WriteTracking(UniqueFd userfaultfd) noexcept : fd_(std::move(userfaultfd)) {}

    /// Finds the tracked mappings of the frozen process. Clears VmFlag::UffdWriteProtect of tracked mappings in `vmas`.
    /// Otherwise the dump would refuse them as mappings with a userfaultfd of the tree.
    void recognize(std::span<kernel::Vma> vmas);

    /// Finds and returns tracked mappings without smaps data, because smaps is slow: the kernel counts every page for
    /// it. Throws Error.
    [[nodiscard]] std::vector<kernel::Vma> recognizeAgain(const kernel::ProcPid& process,
                                                          std::span<const kernel::Vma> vmas);

    /// Returns true if the complete range is tracked. Protected pages of such a range are clean. Must follow
    /// recognize() or recognizeAgain().
    [[nodiscard]] bool covers(std::uint64_t start, std::uint64_t end) const { return tracked_.covers({start, end}); }

    /// Makes all trackable pages of the frozen process clean: the tracking starts again. For mappings that are already
    /// tracked, `vmas` needs no smaps data. Throws Error.
    void restart(const kernel::ProcPid& process, std::span<const kernel::Vma> vmas);

    /// Makes pages count as written. Several threads may call it, even while the process runs.
    void markWritten(std::uint64_t start, std::uint64_t size) noexcept;

    /// Returns true if markWritten() has failed. Later results of this object are then invalid.
    [[nodiscard]] bool broken() const noexcept { return broken_; }

    /// Passes the descriptor to another owner. This object can't be used afterwards.
    [[nodiscard]] UniqueFd takeFd() noexcept { return std::move(fd_); }

private:
    [[nodiscard]] bool registerArea(const kernel::Vma& vma);

    UniqueFd fd_;
    RangeSet tracked_;
    std::atomic<bool> broken_{false};
};

/// Returns true if page tables may miss writes to the memory of a process: devices and AIO requests write to pages that
/// they pinned earlier. criu never tracks such a process.
[[nodiscard]] bool hasUntrackedWrites(const kernel::ProcPid& process, std::span<const kernel::Vma> vmas);

}  // namespace criu::memory
