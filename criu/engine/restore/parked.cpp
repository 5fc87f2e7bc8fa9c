// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/parked.hpp"

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/progress.hpp"
#include "criu/engine/restore/born.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/engine/restore/prepared.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/memory/pages/read_watch.hpp"
#include "criu/memory/shmem/sysv_shm.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/tty/outside_terminals.hpp"

namespace criu::engine {
namespace {

void awaitParked(BornRestore& born) {
    const auto alive = static_cast<std::uint32_t>(born.planned.countAlive());
    born.await([&](unsigned milliseconds) { return born.prepared.control.await(alive, milliseconds); });
}

/// Waits until all processes are parked, then completes their shared resources. Returns the time since the birth of the
/// root.
std::chrono::microseconds complete(BornRestore& born) {
    PlannedRestore& planned = born.planned;
    awaitParked(born);
    born.pids.refresh();
    const kernel::ProcPid first = kernel::ProcDir().open(born.processes.root().value);
    for (const auto& kind : planned.namespaces)
        kind->finish(first);
    while (UniqueFd master = planned.files.terminals().handedOver())
        planned.run.listeners.handOverOrphanMaster(std::move(master));
    planned.segments.finish();
    born.prepared.systemV->markRemovals();
    planned.cgroups.setProperties();
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - born.since);
}

ResumedTree seize(const BornRestore& born) {
    born.planned.log().stage("registers");
    const PlannedRestore& planned = born.planned;
    // A held tree must not run without consent, even if criu is killed. So the kernel kills this tree with criu until
    // criu resumes it.
    const bool standsBy = !planned.devices.resumes() && !planned.options().holdTimeout;
    return ResumedTree(born.prepared.run, born.pids, standsBy);
}

std::unique_ptr<Progress> beginWaiting(const BornRestore& born) {
    born.planned.log().stage("wait for processes");
    return showProgress(born);
}

}  // namespace

std::unique_ptr<Progress> showProgress(const BornRestore& born) {
    const ControlPage& page = born.prepared.control.page();
    auto progress = std::make_unique<Progress>(
        "Restoring", page.filledBytes, Progress::terminal(born.planned.options()), page.wantedBytes, born.since);
    progress->startThread();
    return progress;
}

ParkedRestore::ParkedRestore(BornRestore& birth)
    : planned(birth.planned),
      prepared(birth.prepared),
      born(birth),
      progress_(beginWaiting(birth)),
      sharedBytes(planned.segments.fill(planned.checkStop, prepared.control.watchReading(planned.log()))),
      forking(complete(birth)),
      tree(seize(birth)) {
    progress_.reset();
}

ParkedRestore::~ParkedRestore() = default;

}  // namespace criu::engine
