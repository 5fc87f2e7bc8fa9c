// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/tasks/unshared_threads.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/loss.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/kernel/proc/sharing.hpp"
#include "criu/model/options.hpp"
#include "criu/model/thread_plan.hpp"

namespace criu::engine {
namespace {

using kernel::KcmpType;

/// Threads of a process that don't share one type of object with the main thread.
class Unshared {
public:
    Unshared(const FrozenTask& task, KcmpType type) : sharing_(find(task, type), type) {
        for (const HostPid tid : tids_)
            numbers_.emplace(sharing_.firstOf(tid), static_cast<std::uint32_t>(numbers_.size() + 1));
    }

    [[nodiscard]] const std::vector<HostPid>& threads() const noexcept { return tids_; }
    /// Returns the number of a thread's object. The main thread's object has number 0; other objects count from 1 in
    /// the order of threads.
    [[nodiscard]] std::uint32_t numberOf(HostPid tid) const {
        const auto found = numbers_.find(sharing_.firstOf(tid));
        return found == numbers_.end() ? 0 : found->second;
    }
    /// Returns one thread for each object that isn't the main thread's.
    [[nodiscard]] std::vector<HostPid> representatives() const {
        std::vector<HostPid> all;
        for (const auto& [tid, number] : numbers_)
            all.push_back(tid);
        return all;
    }

private:
    const std::vector<HostPid>& find(const FrozenTask& task, KcmpType type) {
        const HostPid actor = task.actor();
        for (const compel::FrozenThread& thread : task.process->threads()) {
            const HostPid tid(thread.tracee.tid());
            if (tid != actor && kernel::kcmp(actor.value, tid.value, type) != std::partial_ordering::equivalent)
                tids_.push_back(tid);
        }
        return tids_;
    }

    std::vector<HostPid> tids_;
    kernel::Sharing sharing_;
    /// Numbers of the objects. The key is the first thread that shares the object (Sharing::firstOf()).
    std::unordered_map<HostPid, std::uint32_t> numbers_;
};

/// Refuses threads with a private descriptor table. A thread gets one by unshare(CLONE_FILES) or by clone(2) without
/// CLONE_FILES.
void refuseOwnDescriptors(const FrozenTask& task) {
    const Unshared tables(task, KcmpType::Files);
    if (tables.threads().empty())
        return;
    Error error(0, fmt::format("thread {} of {} has a table of descriptors of its own (CLONE_FILES), which can't be "
                               "dumped",
                               tables.threads().front(), task.describe()));
    error.addHint("a process can, in the place of such a thread");
    throw error;
}

/// Adds the threads with an I/O priority to `out`. Only these surely have an I/O context: the kernel creates it when
/// the priority is set. kcmp(2) would report two threads without an I/O context as equal.
void findPriorities(const FrozenTask& task, std::vector<HostPid>& out) {
    constexpr int kProcess = 1;       // IOPRIO_WHO_PROCESS
    constexpr long kClassShift = 13;  // IOPRIO_CLASS_SHIFT
    for (const compel::FrozenThread& thread : task.process->threads()) {
        const HostPid tid(thread.tracee.tid());
        if (::syscall(SYS_ioprio_get, kProcess, tid.value) >> kClassShift > 0)
            out.push_back(tid);
    }
}

}  // namespace

std::vector<HostPid> findUnsharedThreads(FrozenTree& tree, const model::Options& options, Log& log) {
    std::vector<HostPid> directories;
    std::vector<HostPid> prioritized;
    for (const auto& task : tree.tasks()) {
        if (!task->alive())
            continue;
        directories.push_back(task->actor());
        findPriorities(*task, prioritized);
        if (task->process->threads().size() == 1)
            continue;
        refuseOwnDescriptors(*task);
        const Unshared fs(*task, KcmpType::Fs);
        const Unshared sysvsem(*task, KcmpType::SysvSem);
        if (fs.threads().empty() && sysvsem.threads().empty())
            continue;
        if (options.compat)
            fail("thread {} of {} doesn't share its {} with the others, which CRIU 4.2 can't restore",
                 (fs.threads().empty() ? sysvsem : fs).threads().front(), task->describe(),
                 fs.threads().empty() ? "semaphore adjustments (CLONE_SYSVSEM)" : "working directory (CLONE_FS)");
        const std::vector<HostPid> more = fs.representatives();
        directories.insert(directories.end(), more.begin(), more.end());
        for (const compel::FrozenThread& thread : task->process->threads()) {
            const HostPid tid(thread.tracee.tid());
            task->objects.push_back({fs.numberOf(tid), sysvsem.numberOf(tid)});
        }
        const ErrorContext context([&] { return task->describe(); });
        (void)model::planThreads(task->objects);
    }
    if (const auto pair = kernel::Sharing(std::move(prioritized), KcmpType::Io).anyPair())
        log.loss(
            Loss::IoContext,
            "Threads {} and {} share an I/O context (CLONE_IO), which isn't kept: each has its own after a restore, "
            "with the same priority",
            pair->first, pair->second);
    return directories;
}

}  // namespace criu::engine
