// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/running.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/lazy/lazy_restore.hpp"
#include "criu/engine/progress.hpp"
#include "criu/engine/restore/born.hpp"
#include "criu/engine/restore/memory_provider.hpp"
#include "criu/engine/restore/parked.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/engine/restore/prepared.hpp"
#include "criu/engine/statistics.hpp"
#include "criu/image/pagemap.hpp"
#include "criu/kernel/names/pid_file.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"

namespace criu::engine {
namespace {

std::vector<namespaces::ParkedProcess> processesOf(const BornRestore& born) {
    std::vector<namespaces::ParkedProcess> processes;
    for (const auto& task : born.planned.tree().tasks)
        if (task->alive())
            processes.push_back({*task, born.pids.outside(task->pid)});
    return processes;
}

/// Executes `step`. Only logs its error as a warning, because the processes run, and criu can't revert the restore any
/// more.
template <typename Step>
void orWarn(Log& log, Step&& step) noexcept {
    try {
        step();
    } catch (const std::exception& error) {
        log.warn("{}", error.what());
    }
}

/// Makes device subsystems restore the devices of all processes, and shows progress. Returns when all device contents
/// are loaded. Throws Error.
void resumeDevices(ParkedRestore& parked) {
    const std::unique_ptr<Progress> progress = showProgress(parked.born);
    std::vector<device::ResumedProcess> resumed;
    parked.tree.forEach([&](compel::FrozenProcess& process, TreePid pid) { resumed.push_back({&process, pid}); });
    parked.planned.devices.resume(resumed);
}

/// Finishes the files and removes the network lock. Then ends the isolation that NamespaceRestore::close() began.
void openNetwork(ParkedRestore& parked) {
    PlannedRestore& planned = parked.planned;
    const bool standsBy = parked.tree.standsBy();
    // If criu is killed, processes in stand-by run with unfinished files. The kernel kills other processes with criu,
    // and sockets outside of repair mode would then send a FIN.
    if (standsBy)
        planned.nsContext.inNetwork([&] { planned.files.finish(); });
    if (planned.nsContext.ownNetwork)
        orWarn(planned.log(), [&] { planned.run.listeners.notify(Stage::NetworkUnlock); });
    planned.nsContext.inNetwork([&] {
        if (!standsBy)
            planned.files.finish();
        orWarn(planned.log(), [&] { planned.files.open(); });
        planned.networkLock.unlock();
    });
    for (const auto& kind : planned.namespaces)
        kind->open();
}

}  // namespace

RunningRestore::RunningRestore(ParkedRestore& parking) : parked_(parking) {
    BornRestore& born = parking.born;
    PreparedRestore& prepared = parking.prepared;
    PlannedRestore& planned = parking.planned;

    planned.run.listeners.require(Stage::PostRestore);
    planned.log().stage("devices");
    resumeDevices(parking);
    planned.log().stage("resume");
    std::optional<PidFile> pidFile;
    if (planned.options().pidFile)
        pidFile.emplace(*planned.options().pidFile, born.processes.root());
    planned.run.stop.throwIfRequested();
    const std::vector<namespaces::ParkedProcess> processes = processesOf(born);
    for (const auto& kind : planned.namespaces)
        kind->clean(processes);
    planned.files.setOwners(born.pids, planned.nsContext.ids);
    parking.tree.requireRights(prepared.run, born.pids);
    planned.files.recordLinks();
    // Commits before the network opens: a peer must not get packets of a tree that the kernel then kills with criu.
    const bool stopAll = planned.options().finalState == model::FinalState::Stopped;
    parking.tree.commit(prepared.run, stopAll);
    parking.tree.settle(prepared.run, stopAll, planned.cgroups.freezes() || planned.run.listeners.mayFreeze());
    // Destroyed before the phases of the restore. After a failure, its destructor thaws the cgroups before criu kills
    // the processes, because processes in a frozen cgroup of version 1 can't end.
    cgroup::FrozenGroups frozen = planned.cgroups.freeze();
    // Opens the network after the last step that may fail. Earlier, a peer could get packets of a tree that criu then
    // kills.
    openNetwork(parking);
    if (planned.options().holdTimeout)
        planned.run.listeners.require(Stage::PreResume);
    else
        orWarn(planned.log(), [&] { planned.run.listeners.notify(Stage::PreResume); });

    // The steps below only log errors, because criu can't revert processes that run.
    planned.devices.finish();
    // Closes the queue of the descriptor store. The queue keeps files open that the processes may close, and criu may
    // run as long as the tree.
    planned.store.closeQueue();
    orWarn(planned.log(),
           [&] { planned.nsContext.withPathsOf(born.processes.root(), [&] { planned.files.removeLinks(); }); });
    parking.tree.resumeTasks(prepared.run);
    born.processes.release();
    if (LazyRestore* const lazy = prepared.lazy.get(); lazy != nullptr)
        orWarn(planned.log(), [lazy] { lazy->done(); });
    prepared.commit();
    frozen.leaveStopped();
    if (pidFile)
        pidFile->commit();
    planned.dismissStreamer();
    if (planned.provider)
        orWarn(planned.log(), [&] { planned.provider->commit(); });
    planned.log().endStages();
    reportDone();
    orWarn(planned.log(), [&] { planned.run.listeners.notify(Stage::PostResume); });
}

void RunningRestore::reportDone() const {
    using std::chrono::steady_clock;
    const PlannedRestore& planned = parked_.planned;
    const ControlPage& page = parked_.prepared.control.page();
    RestoreStatistics statistics;
    statistics.forking = parked_.forking;
    statistics.restore = std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - planned.started);
    statistics.pagesRestored = page.restoredPages + parked_.sharedBytes / kImagePageSize;
    statistics.pagesCompared = page.comparedPages;
    statistics.pagesSkippedCow = page.sharedPages;
    reportStatistics(statistics, planned.options(), planned.run.client, planned.log());
    planned.log().info("Restore finished: {} processes run", planned.countAlive());
}

int RunningRestore::awaitRoot() const {
    const PlannedRestore& planned = parked_.planned;
    // Waits for criu's child. With --new-pidns, this is the namespace init, which exits when the root exits, with the
    // root's exit status.
    const pid_t root = parked_.born.processes.init().value;
    if (planned.tree().root().state == model::TaskState::Stopped)
        planned.log().warn("Process {} is stopped, as at the dump: kill -CONT {} resumes it",
                           parked_.born.processes.root(), parked_.born.processes.root());
    int status = 0;
    for (;;) {
        const pid_t ended = ::waitpid(root, &status, WNOHANG | __WALL);
        if (ended < 0)
            failErrno("wait for the restored process {}", root);
        if (ended == root)
            break;
        siginfo_t info{};
        timespec limit{0, 50'000'000};
        sigset_t child;
        ::sigemptyset(&child);
        ::sigaddset(&child, SIGCHLD);
        ::sigtimedwait(&child, &info, &limit);
        if (planned.run.stop.requested()) {
            planned.log().warn("criu stops waiting for the restored process {}, which goes on", root);
            return 1;
        }
    }
    planned.log().info("Restored process {} has ended with status {:#x}", root, status);
    return 0;
}

}  // namespace criu::engine
