// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/task/thread_steps.hpp"

#include <algorithm>

#include "criu/engine/restore/birth/restore_start.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/engine/restore/restore_run.hpp"
#include "criu/model/nested_pids.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/task/attributes.hpp"
#include "criu/task/signals.hpp"
#include "criu/task/thread_controls.hpp"
#include "criu/task/thread_state.hpp"
#include "criu/task/timers.hpp"
#include "images/core.hpp"

namespace criu::engine {

ThreadSteps::ThreadSteps(const RestoreRun& run, const model::Task& task)
    : run_(run),
      task_(task),
      personalities_(std::any_of(task.threads.begin(), task.threads.end(), [](const model::Thread& thread) {
          return (*thread.core)->thread_core->has_personality != 0;
      })) {}

pid_t ThreadSteps::numberOf(TreePid who) const {
    return model::NestedPids::numberIn(run_.content.tree.nested().of(task_.pid), who);
}

void ThreadSteps::compose(const model::Thread& thread, pie::StepList& steps, pie::RemoteData& data) const {
    const CoreEntry& core = **thread.core;
    const ThreadCoreEntry& own = *core.thread_core;
    task::restoreThreadState(core, steps, data);
    task::restoreThreadControls(own, steps, data);
    // Sets the personality of every thread, because a new thread inherits the personality of its creator.
    if (personalities_)
        task::restorePersonality(own.has_personality != 0 ? own.personality : task_.core().tc->personality, steps);
    task::restoreSignalStack(own, steps, data);
    // In a private user namespace, the process may not set its scheduling, so the coordinator does. The same is true
    // for a process with late threads, which executes these steps in its nested user namespace.
    if (!run_.nsContext.ids.isOwnNamespace() && !task_.lateThreads)
        task::restoreScheduling(own, run_.start.scheduling, steps, data);
    task::restoreSignalQueue(own.signals_p, false, numberOf(task_.pid), numberOf(thread.tid), steps, data);
}

void ThreadSteps::composeTimers(pie::StepList& steps, pie::RemoteData& data) const {
    task::restoreTimers(
        task_.core().tc->timers, task_.pid, [this](TreePid who) { return numberOf(who); }, run_.start.timerIdsSettable,
        steps, data);
}

}  // namespace criu::engine
