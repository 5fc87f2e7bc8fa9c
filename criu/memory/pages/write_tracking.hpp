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

/// Tracked writes of one process to its private memory since a moment, by userfaultfd: all pages were write-protected
/// then, and still protected pages are clean.
/// A page counts as clean only if that is certain. Untracked: shared memory, hugetlbfs pages, kernel areas, and
/// ranges that another userfaultfd has registered.
class WriteTracking {
public:
    /// Takes a descriptor for which kernel::enableUffdWpAsync() was called.
    explicit WriteTracking(UniqueFd userfaultfd) noexcept : fd_(std::move(userfaultfd)) {}

    /// Finds the tracked mappings of the frozen process. Clears the flag of registered memory in `vmas`, because only
    /// criu handles faults there.
    void recognize(std::span<kernel::Vma> vmas);

    /// Finds tracked mappings without smaps data, for which the kernel would count every page. Returns them. Throws
    /// Error.
    [[nodiscard]] std::vector<kernel::Vma> recognizeAgain(const kernel::ProcPid& process,
                                                          std::span<const kernel::Vma> vmas);

    /// Returns true if the whole range is tracked, so that its protected pages are clean. Requires recognize() or
    /// recognizeAgain().
    [[nodiscard]] bool covers(std::uint64_t start, std::uint64_t end) const { return tracked_.covers({start, end}); }

    /// Makes all trackable pages of the frozen process clean. Mappings that are tracked already need no smaps data.
    /// Throws Error.
    void restart(const kernel::ProcPid& process, std::span<const kernel::Vma> vmas);

    /// Makes pages count as written. Several threads may call it, also while the process runs.
    void markWritten(std::uint64_t start, std::uint64_t size) noexcept;

    /// Returns true if markWritten() has failed: later results are invalid.
    [[nodiscard]] bool broken() const noexcept { return broken_; }

    /// Passes the descriptor to another owner, and ends this object's use.
    [[nodiscard]] UniqueFd takeFd() noexcept { return std::move(fd_); }

private:
    [[nodiscard]] bool registerArea(const kernel::Vma& vma);

    UniqueFd fd_;
    RangeSet tracked_;
    std::atomic<bool> broken_{false};
};

/// Returns true if writes may bypass the page tables of a process: devices and AIO requests write to pages that they
/// got earlier. Such a process is never tracked.
[[nodiscard]] bool hasUntrackedWrites(const kernel::ProcPid& process, std::span<const kernel::Vma> vmas);

}  // namespace criu::memory
