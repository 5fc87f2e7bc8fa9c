// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/tasks/sem_undo_queries.hpp"

#include <sys/syscall.h>

#include <compel/injection.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <set>
#include <span>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/loss.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/kernel/proc/sharing.hpp"
#include "criu/model/thread_plan.hpp"
#include "criu/namespaces/ipc/ipc_semaphores.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/pie/step_results.hpp"

namespace criu::engine {
namespace {

/// Maximum number of attempts to query one semaphore set in criu's IPC namespace, because other processes may change
/// the semaphores during a query.
constexpr int kTries = 16;

using Adjustments = std::optional<std::vector<namespaces::SemUndoValue>>;

/// Processes that may use a semaphore set. With Anyone, processes outside of the tree may use the set, and may remove
/// it at any time.
enum class Users { Tree, Anyone };

/// Makes a thread query its semaphore undo values for one semaphore set. Returns nothing if the thread may not access
/// the set.
Adjustments askThread(compel::Tracee& thread, int set, Users users, std::span<const std::uint16_t> values,
                      compel::Injection& injection, StopRequest& stop) {
    return namespaces::findSemUndo(values, [&](std::span<const sembuf> operations) -> long {
        pie::RemoteData data(injection.data());
        pie::StepList steps;
        const std::uint64_t resultAt = data.reserve(sizeof(std::int64_t));
        const std::uint64_t at = data.put(std::as_bytes(operations));
        steps.call(pie::Subject::Query, static_cast<std::uint64_t>(set), SYS_semop, set, at, operations.size()).check =
            pie::ResultCheck::Any;
        steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, resultAt).check = pie::ResultCheck::Any;
        runProgram(injection, steps, data, thread, &stop);
        const auto result = static_cast<long>(data.local<std::int64_t>(resultAt));
        // EFBIG: the set was removed, and its id belongs to a set with fewer semaphores
        const bool removed = result == -EINVAL || result == -EIDRM || result == -EFBIG;
        return users == Users::Anyone && removed ? -EACCES : result;
    });
}

/// Returns one thread for each list of semaphore undo values in the process. Several threads may share a list
/// (CLONE_SYSVSEM).
std::vector<compel::Tracee*> holdersOf(FrozenTask& task) {
    std::vector<compel::Tracee*> found{&task.process->leader()};
    std::set<std::uint32_t> seen{0};
    for (std::size_t i = 0; i < task.objects.size(); ++i)
        if (seen.insert(task.objects[i].sysvsem).second)
            found.push_back(&task.process->threads()[i].tracee);
    return found;
}

}  // namespace

void SemUndoQueries::query(FrozenTask& task, std::vector<namespaces::SemaphoreSet>* own, compel::Injection& injection) {
    if (own == nullptr && !outside_)
        outside_ = namespaces::listUsedSemaphoreSets();
    if (own != nullptr ? own->empty() : outside_->empty())
        return;
    for (compel::Tracee* const thread : holdersOf(task)) {
        if (own == nullptr)
            for (const int set : *outside_)
                queryOthers(task, *thread, set, injection);
        else
            for (namespaces::SemaphoreSet& set : *own)
                queryOwn(task, *thread, set, injection);
    }
}

void SemUndoQueries::queryOwn(FrozenTask& task, compel::Tracee& thread, namespaces::SemaphoreSet& set,
                              compel::Injection& injection) {
    const Adjustments found = askThread(thread, set.id(), Users::Tree, set.values, injection, stop_);
    if (!found) {
        log_.debug("pid {}: semaphore set {} can't be asked for adjustments", task.pid(), set.id());
        return;
    }
    if (found->empty())
        return;
    if (HostPid(thread.tid()) != task.actor())
        fail(
            "thread {} of {} has adjustments of semaphore set {} of its own (CLONE_SYSVSEM, SEM_UNDO), which can't be "
            "dumped",
            thread.tid(), task.describe(), set.id());
    for (const namespaces::SemUndoValue& adjustment : *found)
        set.adjustments.push_back({task.treePid(), adjustment});
    if (holders_.empty() || holders_.back() != task.actor())
        holders_.push_back(task.actor());
}

void SemUndoQueries::queryOthers(const FrozenTask& task, compel::Tracee& thread, int set,
                                 compel::Injection& injection) {
    for (int tries = 0; tries < kTries; ++tries) {
        const auto before = namespaces::readSemaphoreValues(set);
        if (!before)
            return;
        const Adjustments found = askThread(thread, set, Users::Anyone, *before, injection, stop_);
        if (!found)
            return;  // the process may not change the set
        if (namespaces::readSemaphoreValues(set) != before)
            continue;
        if (found->empty())
            return;
        Error error(0, fmt::format("process {} has an adjustment of semaphore set {} (SEM_UNDO), which is in an IPC "
                                   "namespace that isn't the tree's own: the kernel adjusts it when the process ends, "
                                   "so that what the process holds would be free",
                                   task.pid(), set));
        error.addHint(
            "dump when the process doesn't hold the semaphore, or start the tree in an IPC namespace of its own "
            "(unshare --ipc)");
        throw error;
    }
    log_.loss(
        Loss::Semaphores,
        "Semaphore set {} changes all the time, so {} can't be asked whether it holds a semaphore of it, which isn't "
        "kept",
        set, task.describe());
}

void SemUndoQueries::finish() const {
    if (const auto pair = kernel::Sharing(holders_, kernel::KcmpType::SysvSem).anyPair())
        fail("processes {} and {} share their semaphore adjustments (CLONE_SYSVSEM), which can't be dumped",
             pair->first, pair->second);
}

}  // namespace criu::engine
