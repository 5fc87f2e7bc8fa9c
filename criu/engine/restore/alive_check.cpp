// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/alive_check.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/engine/restore/restore_control.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/model/pid_map.hpp"
#include "criu/model/process_tree.hpp"

namespace criu::engine {

void checkAlive(const model::ProcessTree& tree, const RestoreControl& control, PidMap& pids) {
    // Taken first: a process created later may be missing in the map
    const std::vector<TreePid> created = control.created();
    pids.refresh();
    kernel::ProcBuffer buffer;
    const kernel::ProcDir proc;
    for (const auto& task : tree.tasks) {
        if (!task->alive() || std::find(created.begin(), created.end(), task->pid) == created.end())
            continue;
        try {
            std::optional<HostPid> pid = pids.tryOutside(task->pid);
            if (!pid) {
                pids.refreshByAll();
                pid = pids.tryOutside(task->pid);
            }
            if (!pid)
                fail("process {} ended while it was restored", task->pid);
            const kernel::TaskStat stat = kernel::readStat(proc.open(pid->value), buffer);
            if (stat.state != kernel::TaskState::Zombie && stat.state != kernel::TaskState::Dead)
                continue;
            // The exit code is a wait(2) status, so it can name the signal that killed the process.
            if (WIFSIGNALED(stat.exitCode))
                fail("process {} was killed by signal {} ({}) while it was restored", task->pid,
                     WTERMSIG(stat.exitCode), ::strsignal(WTERMSIG(stat.exitCode)));
        } catch (const Error& error) {
            if (error.code() != ENOENT && error.code() != ESRCH)
                throw;
        }
        fail("process {} ended while it was restored", task->pid);
    }
}

}  // namespace criu::engine
