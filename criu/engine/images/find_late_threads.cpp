// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/images/find_late_threads.hpp"

#include <map>

#include "criu/base/error.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/timers.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/model/thread_plan.hpp"
#include "criu/namespaces/ns_ids.hpp"
#include "criu/task/credentials.hpp"
#include "images/core.hpp"
#include "images/inventory.hpp"
#include "images/timer.hpp"

namespace criu::engine {
namespace {

void requireThreads(const model::Task& task) {
    if ((*task.ids)->has_pid_for_children_ns_id != 0)
        fail("has its children in another pid namespace than its own");
    const auto first = task::Credentials::ofImage(*task.core().thread_core->creds);
    for (const model::Thread& thread : task.threads) {
        const auto own = task::Credentials::ofImage(*(*thread.core)->thread_core->creds);
        if (own.uid != first.uid || own.gid != first.gid || own.groups != first.groups)
            fail("thread {} has other users or groups than the process", thread.tid);
    }
    for (const model::ThreadObjects& objects : model::objectsOf(task))
        if (objects != model::ThreadObjects())
            fail("a thread has a working directory or semaphore adjustments of its own");
    // The process would create such a timer without CAP_WAKE_ALARM in the initial user namespace.
    if (const TaskTimersEntry* const timers = task.core().tc->timers)
        for (const PosixTimerEntry* const timer : list(timers->posix, timers->n_posix))
            if (kernel::isAlarmClock(static_cast<std::int32_t>(timer->clock_id)))
                fail("timer {} wakes the machine (CLOCK_REALTIME_ALARM or CLOCK_BOOTTIME_ALARM)", timer->it_id);
}

}  // namespace

void findLateThreads(const RestoreImages& content, const ImageDir& images) {
    std::map<std::uint32_t, bool> nested{{0, false}};
    if (const TaskKobjIdsEntry* const outside = (*content.inventory)->root_ids)
        nested.emplace(namespaces::numberOf(*outside, kernel::NamespaceKind::User).value_or(0), false);
    for (const auto& task : content.tree.tasks) {
        if (!task->alive() || task->threads.size() == 1 || !task->ids)
            continue;
        const std::uint32_t number = namespaces::numberOf(**task->ids, kernel::NamespaceKind::User).value_or(0);
        const auto [found, isNew] = nested.try_emplace(number, false);
        if (isNew)
            found->second = model::UserNsPosition::ofImage(images, number).has_value();
        if (!found->second)
            continue;
        const ErrorContext context([&] {
            return fmt::format("process {}, which has several threads and a user namespace other than that of the tree",
                               task->pid);
        });
        requireThreads(*task);
        task->lateThreads = true;
    }
}

}  // namespace criu::engine
