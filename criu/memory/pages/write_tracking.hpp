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

/// What one process has written to its private memory since a moment in time, by a userfaultfd of its memory: pages
/// were write-protected then, and those that still are haven't been written to.
///
/// Of a page it says "clean" only if that is certain. What the kernel doesn't tell by page tables (shared memory, huge
/// pages of hugetlbfs, the kernel's own areas) isn't tracked, nor what somebody else has registered.
class WriteTracking {
public:
    /// Takes over a descriptor for which kernel::enableUffdWpAsync() was called.
    explicit WriteTracking(UniqueFd userfaultfd) noexcept : fd_(std::move(userfaultfd)) {}

    /// Finds the mappings of the stopped process that are tracked, and takes the mark of registered memory off them in
    /// `vmas`: nobody but criu handles faults there.
    void recognize(std::span<kernel::Vma> vmas);

    /// The same for mappings without what smaps says of them, which the kernel has to count every page for. Returns
    /// those that are tracked. Throws Error.
    [[nodiscard]] std::vector<kernel::Vma> recognizeAgain(const kernel::ProcPid& process,
                                                          std::span<const kernel::Vma> vmas);

    /// Whether pages that are protected within the whole range are clean. After recognize() or recognizeAgain().
    [[nodiscard]] bool covers(std::uint64_t start, std::uint64_t end) const { return tracked_.covers({start, end}); }

    /// From now on all pages of the stopped process that can be tracked are clean. Of mappings that are tracked already
    /// nothing has to be known by smaps. Throws Error.
    void restart(const kernel::ProcPid& process, std::span<const kernel::Vma> vmas);

    /// These pages don't count as clean. May be called while the process runs, by several threads.
    void markWritten(std::uint64_t start, std::uint64_t size) noexcept;

    /// markWritten() has failed: nothing that this object says later may be believed.
    [[nodiscard]] bool broken() const noexcept { return broken_; }

    /// The end: somebody else holds the descriptor from now on.
    [[nodiscard]] UniqueFd takeFd() noexcept { return std::move(fd_); }

private:
    [[nodiscard]] bool registerArea(const kernel::Vma& vma);

    UniqueFd fd_;
    RangeSet tracked_;
    std::atomic<bool> broken_{false};
};

/// Whether something may write to the memory of a process without its page tables showing it: devices and requests of
/// asynchronous I/O go to pages that they were given before. Such a process is never tracked.
[[nodiscard]] bool hasUntrackedWrites(const kernel::ProcPid& process, std::span<const kernel::Vma> vmas);

}  // namespace criu::memory
