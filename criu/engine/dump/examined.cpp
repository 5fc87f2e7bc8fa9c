// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/examined.hpp"

#include <compel/tracing_thread.hpp>

#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/refusals.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/engine/dump/files/ring_owners.hpp"
#include "criu/engine/dump/files/ring_requests.hpp"
#include "criu/engine/dump/files/ring_threads.hpp"
#include "criu/engine/dump/frozen.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/memory/early_pages.hpp"
#include "criu/engine/dump/refusals.hpp"
#include "criu/engine/fuse_guarded_run.hpp"
#include "criu/engine/lacking_rights.hpp"
#include "criu/engine/rollback.hpp"
#include "criu/model/options.hpp"
#include "criu/task/security_label.hpp"

namespace criu::engine {

ExaminedPhase::ExaminedPhase(FrozenPhase& frozen, const GuardedFiles& guardedFiles)
    : frozen_(frozen),
      guardedFiles_(guardedFiles),
      labelModule_(task::labelModule()),
      namespaces_(frozen.options(), frozen.log(), frozen.stop(), frozen.tree(), frozen.cgroupProperties(),
                  frozen.guardian(), frozen.devices(), frozen.refusals()),
      unlock_(std::make_unique<RollbackStep>(guardedFiles.rollback, [this] { namespaces_.undo(); })),
      earlyPages_(std::make_unique<EarlyPages>(frozen)) {
    Refusals& refusals = frozen.refusals();
    mayInject_ = refuseUnsupported(frozen.tree(), frozen.options(), labelModule_, frozen.log(), refusals);
    warnOfLackingRights(frozen.tree(), frozen.log());
    refusals.attempt([&] { refuseNestedDevices(frozen.tree(), frozen.devices()); });
    if (mayInject_)
        mayInject_ = refusals.attempt([&] {
            const std::vector<TaskRing> rings = findRings(frozen.tree());
            awaitRingRequests(rings, frozen.stop(), frozen.log());
            examineRingThreads(rings);
            askRingOwners(rings, frozen.stop(), frozen.log().journal());
        });
    locked_ = refusals.attempt([&] { namespaces_.lock(); });
    if (frozen.options().dryRun)
        return;
    frozen.log().stage("devices");
    std::vector<compel::FrozenProcess*> processes;
    for (const auto& task : frozen.tree().tasks())
        if (task->alive())
            processes.push_back(&*task->process);
    // Runs in the tracer, because device subsystems make ptrace calls.
    compel::inTracingThread(
        [&] { frozen.devices().checkpoint(processes, [this](HostPid pid) { earlyPages_->begin(pid); }); });
    earlyPages_->finish();
}

ExaminedPhase::~ExaminedPhase() = default;

bool ExaminedPhase::usesServers() const noexcept {
    return !guardedFiles_.devices.empty();
}

const std::map<HostPid, memory::EarlyDump>& ExaminedPhase::writtenEarly() const noexcept {
    return earlyPages_->written();
}

}  // namespace criu::engine
