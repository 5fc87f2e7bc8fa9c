// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/parallel_exit_mmap.hpp"

#include <compel/error.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/kernel/sched.hpp"

namespace criu::engine {
namespace {

/// Minimum memory of a process in bytes for parallel exit_mmap. The kernel frees less memory faster than criu starts
/// threads.
constexpr std::uint64_t kMuchToFree = std::uint64_t{256} << 20;

/// Maximum number of threads for one process. In a measurement, 8 threads needed a third of the time of one thread, and
/// 16 threads weren't faster.
constexpr unsigned kMostForOne = 8;

/// Layout of struct robust_list_head of <linux/futex.h>, which lists the robust mutexes that a thread holds.
struct RobustListHead {
    std::uint64_t first;
    std::int64_t offset;
    std::uint64_t pending;
};

/// Returns true if a thread holds robust mutexes. When such a thread ends, the kernel still needs the process' memory:
/// it reads the list of mutexes there and wakes waiters, which may be in other processes.
bool holdsMutexes(const FrozenTask& task, const compel::FrozenThread& thread) {
    const kernel::RobustList list = kernel::robustList(thread.tracee.tid());
    if (list.head == 0)
        return false;
    constexpr std::uint64_t kPriorityInheritance = 1;
    const auto head = task.process->memory().readValue<RobustListHead>(list.head);
    return (head.first & ~kPriorityInheritance) != list.head || (head.pending & ~kPriorityInheritance) != 0;
}

bool canBeFreed(const FrozenTask& task) {
    if (task.compat || task.status.vmRss.value_or(0) < kMuchToFree)
        return false;
    const auto& threads = task.process->threads();
    return std::none_of(threads.begin(), threads.end(),
                        [&task](const compel::FrozenThread& thread) { return holdsMutexes(task, thread); });
}

}  // namespace

ParallelExitMmap::ParallelExitMmap(std::span<FrozenTask* const> tasks, unsigned cores) noexcept : cores_(cores) {
    constexpr unsigned kWorthwhile = 4;
    if (cores < kWorthwhile)
        return;
    for (FrozenTask* const task : tasks) {
        try {
            if (!canBeFreed(*task))
                continue;
            kernel::PidFd process(task->pid().value);
            tasks_.reserve(tasks_.size() + 1);
            processes_.reserve(processes_.size() + 1);
            task->process->keepMemoryWhenKilled();
            processes_.push_back(std::move(process));
            tasks_.push_back(task);
        } catch (const std::exception&) {
            continue;  // a failure is harmless: the process frees its memory when it ends
        }
    }
}

void ParallelExitMmap::freeMemory() noexcept {
    try {
        std::vector<const kernel::PidFd*> stopped;
        for (std::size_t i = 0; i < tasks_.size(); ++i)
            if (tasks_[i]->process->waitKilled())
                stopped.push_back(&processes_[i]);
        if (stopped.empty())
            return;
        const unsigned each = std::clamp(cores_ / static_cast<unsigned>(stopped.size()), 1U, kMostForOne);
        ThreadPool pool(std::min<unsigned>(cores_, each * static_cast<unsigned>(stopped.size())));
        for (unsigned thread = 0; thread < each; ++thread)
            for (const kernel::PidFd* const process : stopped)
                pool.submit([process] { (void)process->freeMemory(); });
        pool.wait();
    } catch (const std::exception&) {
        return;  // a failure is harmless: each process frees its memory when it ends
    }
}

}  // namespace criu::engine
