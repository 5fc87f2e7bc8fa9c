// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "criu/base/mapping.hpp"
#include "criu/base/ready_wait.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/cgroup/cgroup_restore.hpp"
#include "criu/cgroup/set_of.hpp"
#include "criu/device/restore_devices.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/model/birth_plan.hpp"
#include "criu/model/process_tree.hpp"
#include "images/inventory.hpp"

namespace criu::engine {
namespace {

constexpr std::size_t kText = 4096;  // maximum length of the child's error message

std::uint32_t setOfProcess(const PlannedRestore& planned, TreePid pid) {
    const auto& tasks = planned.tree().byPid;
    const auto found = tasks.find(pid);
    return found != tasks.end() && found->second->alive() ? cgroup::setOf(found->second->core()) : 0;
}

/// Returns the wait status. Kills the child if the user stops criu, and throws Error.
int awaitEnd(pid_t child, StopRequest& stop) {
    int status = 0;
    try {
        const kernel::PidFd process(child);
        (void)waitReady(process.fd(), POLLIN, stop, std::nullopt);
    } catch (const Error&) {
        ::kill(child, SIGKILL);
        (void)::waitpid(child, &status, __WALL);
        throw;
    }
    sys(::waitpid(child, &status, __WALL), "wait for process {}", child);
    return status;
}

/// Runs `body` in a child that is in the cgroups of the process `pid`. Throws Error with the child's error text, or if
/// the child was killed.
void runInGroupsOf(PlannedRestore& planned, TreePid pid, const std::function<void()>& body) {
    const std::uint32_t from = (*planned.content.inventory)->root_cg_set;
    const std::uint32_t set = setOfProcess(planned, pid);
    const Mapping said = Mapping::anonymous(kText, MAP_SHARED);
    const pid_t parent = ::getpid();
    const pid_t child = sys(::fork(), "create a process to enter control groups");
    if (child == 0) {
        int code = 1;
        try {
            const NoOuterContexts noContexts;  // the parent adds its own contexts
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() == parent) {
                if (set != 0)
                    planned.cgroups.enter(set, from);
                body();
                code = 0;
            }
        } catch (const std::exception& error) {
            std::strncpy(said.as<char>(), error.what(), kText - 1);
        }
        ::_exit(code);
    }
    const int status = awaitEnd(child, planned.run.stop);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    if (*said.as<char>() == '\0')
        fail("a process that was to enter the control groups of process {} has ended", pid);
    fail("in the control groups of process {}: {}", pid, said.as<char>());
}

}  // namespace

void PlannedRestore::requireGroups() {
    for (const auto& task : tree().tasks)
        for (const model::Thread& thread : task->threads)
            cgroups.require(cgroup::setOf(**thread.core));
    std::map<std::uint32_t, std::size_t> counts;
    for (const model::Birth& birth : births.all()) {
        // Helpers and zombies stay in the groups of their creators.
        const model::Birth* owner = &birth;
        while (setOfProcess(*this, owner->pid) == 0 && owner->creator)
            owner = &births.of(owner->creator);
        const auto task = tree().byPid.find(birth.pid);
        const bool alive = task != tree().byPid.end() && task->second->alive();
        counts[setOfProcess(*this, owner->pid)] += alive ? task->second->threads.size() : 1;
    }
    cgroups.requireRoomForTasks(counts);
}

void PlannedRestore::visitGroups() {
    devices.visitGroups({[this](TreePid pid) { return setOfProcess(*this, pid); },
                         [this](TreePid pid, const std::function<void()>& body) { runInGroupsOf(*this, pid, body); }});
}

}  // namespace criu::engine
