// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/namespaces.hpp"

#include <algorithm>

#include "criu/base/refusals.hpp"
#include "criu/cgroup/properties.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/guarded.hpp"
#include "criu/engine/namespace_kinds.hpp"
#include "criu/kernel/net/rtnl_links.hpp"
#include "criu/model/nested_pids.hpp"
#include "criu/namespaces/pid/criu_init.hpp"
#include "criu/namespaces/thread_namespaces.hpp"

namespace criu::engine {
namespace {

std::string makeRunId() {
    std::string id = kernel::ProcDir().readFile("sys/kernel/random/uuid");
    while (!id.empty() && id.back() == '\n')
        id.pop_back();
    return id;
}

}  // namespace

namespaces::SeenTree DumpNamespaces::look(FrozenTree& tree, const Guardian& guardian) {
    namespaces::SeenTree seen{{}, {}, guardian.root().home, tree.pids().nested()};
    for (const auto& task : tree.tasks()) {
        seen.pids.insert(task->pid());
        if (!task->alive())
            continue;
        std::vector<HostPid> threads;
        for (const compel::FrozenThread& thread : task->process->threads())
            threads.emplace_back(thread.tracee.tid());
        seen.processes.push_back({task->dir, task->pid(), HostPid(task->stat.ppid), task->treePid(), task->status.name,
                                  std::move(threads), task->namespaces()});
        namespaces::requireThreadsInProcessNs(seen.processes.back());
    }
    seen.copiedMounts = namespaces::treatAsCriuNamespaces(seen.root().parent, seen.root().ids, seen.criu);
    return seen;
}

DumpNamespaces::DumpNamespaces(const model::Options& options, Log& log, StopRequest& stop, FrozenTree& tree,
                               const cgroup::PropertyTable& cgroupProperties, Guardian& guardian,
                               device::DumpDevices& devices, Refusals& refusals)
    : tree_(look(tree, guardian)),
      numbers_(tree_.criu, tree_.root().ids),
      runId_(makeRunId()),
      inputs_{options,
              log,
              stop,
              tree_,
              numbers_,
              runId_,
              tree.freezer(),
              cgroupProperties,
              [&devices](const std::string& mountPoint, int id) { return devices.takeMount(mountPoint, id); },
              [&devices](const kernel::NetworkLink& link) {
                  return devices.takeLink(static_cast<int>(link.index), link.hardware, link.kind);
              },
              [&guardian] { guardian.require(Stage::NetworkLock); },
              [&guardian] { (void)guardian.notify(Stage::NetworkUnlock); },
              refusals,
              nsContext_},
      kinds_(makeNamespaceDumps(inputs_)) {
    nsContext_.numberOf = [this](kernel::NamespaceKind wanted, HostPid process) {
        const auto found =
            std::find_if(kinds_.begin(), kinds_.end(), [wanted](const auto& kind) { return kind->kind() == wanted; });
        return (*found)->numberOf(process);
    };
}

DumpNamespaces::~DumpNamespaces() {
    undo();
}

void DumpNamespaces::undo() noexcept {
    while (!kinds_.empty())
        kinds_.pop_back();
}

void DumpNamespaces::storeNumbers(HostPid process, TaskKobjIdsEntry& ids) const {
    for (const auto& kind : kinds_) {
        namespaces::storeNumber(ids, kind->kind(), kind->numberOf(process));
        kind->describe(process, ids);
    }
}

std::optional<std::uint32_t> DumpNamespaces::numberOf(kernel::NamespaceKind kind, std::uint32_t inode) const {
    for (const auto& each : kinds_)
        if (each->kind() == kind)
            return each->numberOfInode(inode);
    return std::nullopt;
}

void DumpNamespaces::lock() {
    for (const auto& kind : kinds_)
        kind->lock();
}

void DumpNamespaces::write(const namespaces::DumpOutputs& outputs) {
    for (const auto& kind : kinds_)
        inputs_.refusals.attempt([&] { kind->write(outputs); });
}

void DumpNamespaces::prepareKill() {
    for (const auto& kind : kinds_)
        kind->prepareKill();
}

void DumpNamespaces::release(model::FinalState state) {
    for (const auto& kind : kinds_)
        kind->release(state);
}

}  // namespace criu::engine
