// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/born.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/rescue.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/engine/restore/prepared.hpp"
#include "criu/engine/restore/task/restore_task.hpp"
#include "criu/engine/restorer_room.hpp"
#include "criu/image/record_pool.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/memory/mappings/own_mappings.hpp"
#include "criu/memory/pages/read_watch.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"

namespace criu::engine {
namespace {

TreePidNs pidNsKindOf(const namespaces::RestoreNsContext& nsContext) {
    if (!nsContext.ownPids)
        return TreePidNs::OfCriu;
    return nsContext.endsWithFirst ? TreePidNs::OfTree : TreePidNs::OfOthers;
}

FirstProcesses makeRoot(PreparedRestore& prepared) {
    PlannedRestore& planned = prepared.planned;
    planned.log().stage("processes");
    planned.devices.watch(prepared.control.watchReading(planned.log(), "load device memory"));
    for (RecordPool& records : planned.content.records)
        records.seal();
    // Reads the layout of the processor's state by CPUID once for all children. A virtual machine traps this
    // instruction.
    (void)StandbyRoom();
    std::function<HostPid()> create = [&] { return createRoot(prepared.run, planned.options().restoreSibling); };
    for (const auto& kind : planned.namespaces)
        create = [&kind, inner = std::move(create)] { return kind->createFirstProcess(inner); };
    const HostPid root = create();
    const HostPid init = planned.nsContext.init;
    return {root, init ? init : root};
}

/// Refreshes `pids`. Throws Error if a process has ended that isn't a zombie in the images.
void checkAlive(const model::ProcessTree& tree, const RestoreControl& control, PidMap& pids) {
    // Copies the list before the refresh: a process that is created between both must not count as ended.
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
            // The exit code is a wait(2) status, which also contains the signal that killed the process.
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

}  // namespace

BornRestore::BornRestore(PreparedRestore& preparation)
    : planned(preparation.planned),
      prepared(preparation),
      processes(prepared.control, pidNsKindOf(planned.nsContext), planned.log(), [this] { return makeRoot(prepared); }),
      pids(planned.nsContext.ownPids ? PidMap(processes.init()) : PidMap()) {
    planned.run.listeners.setRoot(processes.root());
    recordRestoredRoot(processes.root(), planned.log());
    fillNamespaces();
    prepared.control.openGate();
    notifyOfMounts();
    deviceWork_ = planned.devices.startWork();
}

BornRestore::~BornRestore() = default;

void BornRestore::await(const std::function<RestoreControl::Outcome(unsigned milliseconds)>& wait) {
    constexpr unsigned kLookEvery = 200;  // milliseconds between two calls of checkAlive()
    for (;;) {
        switch (wait(kLookEvery)) {
            case RestoreControl::Outcome::Reached:
                return;
            case RestoreControl::Outcome::Failed:
                planned.log().noteCause({prepared.control.failureCode(), prepared.control.failureText()});
                fail("{}", prepared.control.failureText());
            case RestoreControl::Outcome::Idle:
                break;
        }
        planned.run.stop.throwIfRequested();
        checkAlive(planned.tree(), prepared.control, pids);
    }
}

void BornRestore::notifyOfMounts() {
    if (!planned.options().notifyMounts)
        return;
    if (planned.nsContext.makesMounts)
        await([&](unsigned milliseconds) { return prepared.control.awaitMountsMade(milliseconds); });
    planned.run.listeners.require(Stage::PostMounts);
    prepared.control.noteMountsSeen();
}

void BornRestore::fillNamespaces() {
    planned.log().stage("namespaces");
    const kernel::ProcPid first = kernel::ProcDir().open(processes.root().value);
    for (const auto& kind : planned.namespaces)
        kind->firstCreated(first);
    planned.run.listeners.require(Stage::SetupNamespaces);
    if (std::any_of(planned.namespaces.begin(), planned.namespaces.end(),
                    [](const auto& kind) { return kind->needsFirstStarted(); }))
        await([&](unsigned milliseconds) { return prepared.control.awaitRootStarted(milliseconds); });
    for (const auto& kind : planned.namespaces)
        kind->fill(first);
    planned.run.listeners.require(Stage::PostSetupNamespaces);
    for (const auto& kind : planned.namespaces)
        kind->close();
    planned.nsContext.inNetwork([this] { planned.files.begin(); });
}

}  // namespace criu::engine
