// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/born.hpp"

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/device/restore_devices.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/restore/alive_check.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/engine/restore/prepared.hpp"
#include "criu/engine/restore/task/restore_task.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/memory/mappings/own_mappings.hpp"
#include "criu/memory/pages/read_watch.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/namespace_restore.hpp"

namespace criu::engine {
namespace {

TreePidNs pidNsKindOf(const namespaces::RestoreNsContext& surroundings) {
    if (!surroundings.ownPids)
        return TreePidNs::OfCriu;
    return surroundings.endsWithFirst ? TreePidNs::OfTree : TreePidNs::OfOthers;
}

FirstProcesses makeRoot(PreparedRestore& prepared) {
    prepared.planned.log().stage("processes");
    prepared.planned.devices.watch(prepared.control.watchReading(prepared.planned.log(), "load device memory"));
    constexpr std::size_t kMany = 64;  // with fewer processes, makeHeapHuge() costs more time than it saves in fork()
    if (prepared.planned.tree().tasks.size() >= kMany)
        memory::makeHeapHuge();
    std::function<HostPid()> create = [&] {
        return createRoot(prepared.run, prepared.planned.options().restoreSibling);
    };
    for (const auto& kind : prepared.planned.namespaces)
        create = [&kind, inner = std::move(create)] { return kind->createFirstProcess(inner); };
    const HostPid root = create();
    const HostPid init = prepared.planned.surroundings.init;
    return {root, init ? init : root};
}

}  // namespace

BornRestore::BornRestore(PreparedRestore& preparation)
    : prepared(preparation),
      processes(prepared.control, pidNsKindOf(prepared.planned.surroundings), prepared.planned.log(),
                [this] { return makeRoot(prepared); }),
      pids(prepared.planned.surroundings.ownPids ? PidMap(processes.init()) : PidMap()) {
    prepared.planned.run.listeners.setRoot(processes.root());
    fillNamespaces();
    prepared.control.openGate();
    deviceWork_ = prepared.planned.devices.startWork();
}

BornRestore::~BornRestore() = default;

void BornRestore::await(const std::function<RestoreControl::Outcome(unsigned milliseconds)>& wait) {
    constexpr unsigned kLookEvery = 200;  // in milliseconds; how often checkAlive() runs
    const PlannedRestore& planned = prepared.planned;
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

void BornRestore::fillNamespaces() {
    PlannedRestore& planned = prepared.planned;
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
    planned.surroundings.inNetwork([&planned] { planned.files.begin(); });
}

}  // namespace criu::engine
