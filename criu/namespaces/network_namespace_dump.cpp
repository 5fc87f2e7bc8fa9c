// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>

#include <map>
#include <optional>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "criu/namespaces/networks_dump.hpp"
#include "criu/sockets/network_lock.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

/// Of a tree that is in the network namespace of criu nothing is dumped but its sockets. Else the calling thread goes
/// to the namespace of the tree's root and stays there as long as this lives: it looks at sockets and changes rules of
/// the packet filter there.
class NetworkNamespaceDump final : public NamespaceDump {
public:
    explicit NetworkNamespaceDump(const DumpInputs& with)
        : NamespaceDump(NamespaceKind::Net, with),
          rootLock_(with.options.networkLock.value_or(sockets::defaultNetworkLock()), with.runId, with.log),
          networks_(with.options, rootLock_, with.runId, with.takeLink, with.numbers, with.stop, with.log) {
        with.surroundings.networks = &networks_;
        const auto criu = with.tree.criu.of(NamespaceKind::Net);
        if (!isOwn()) {
            requireOne();
            networks_.begin(criu);
            return;
        }
        for (const SeenProcess& process : with.tree.processes)
            requireNotCrius(process);
        with.log.stage("network");
        const UniqueFd space = with.tree.root().dir.open("ns/net", O_RDONLY);
        visit_.emplace(space.get(), NamespaceKind::Net);
        networks_.begin(criu);
        for (const SeenProcess& process : with.tree.processes) {
            const ErrorContext context([&] { return process.describe(); });
            numbers_.emplace(process.pid, networks_.ofProcess(process.dir));
        }
    }

    ~NetworkNamespaceDump() override {
        try {
            unlockScripts();
        } catch (const std::exception& error) {
            inputs().log.warn("{}", error.what());
        }
    }
    NetworkNamespaceDump(const NetworkNamespaceDump&) = delete;
    NetworkNamespaceDump& operator=(const NetworkNamespaceDump&) = delete;

    [[nodiscard]] std::uint32_t numberOf(HostPid process) const override {
        const auto found = numbers_.find(process);
        return found == numbers_.end() ? rootNumber() : found->second;
    }

    void lock() override {
        if (!isOwn())
            return;  // others use the namespace: each connection is locked for itself
        scriptsLocked_ = true;
        inputs().scriptsLock();
        networks_.lock();
    }

    void write(const DumpOutputs& outputs) override { networks_.write(outputs.images); }

    void release(model::FinalState state) override {
        const bool goesOn = state == model::FinalState::Running;
        networks_.release(!goesOn);
        if (goesOn)
            unlockScripts();
        scriptsLocked_ = false;
    }

private:
    void requireNotCrius(const SeenProcess& process) const {
        if (process.ids.of(NamespaceKind::Net) == inputs().tree.criu.of(NamespaceKind::Net))
            fail("{} is in another network namespace than the root of the tree: in that of criu", process.describe());
    }

    void unlockScripts() {
        if (std::exchange(scriptsLocked_, false))
            visit_->atHome([&] { inputs().scriptsUnlock(); });
    }

    std::optional<kernel::NamespaceVisit> visit_;  // only where isOwn(); outlives what unlocks the network
    sockets::NetworkLock rootLock_;
    NetworksDump networks_;
    std::map<HostPid, std::uint32_t> numbers_;  ///< by process
    bool scriptsLocked_ = false;                ///< scripts have been asked to lock the network
};

}  // namespace

std::unique_ptr<NamespaceDump> makeNetworkDump(const DumpInputs& inputs) {
    return std::make_unique<NetworkNamespaceDump>(inputs);
}

}  // namespace criu::namespaces
