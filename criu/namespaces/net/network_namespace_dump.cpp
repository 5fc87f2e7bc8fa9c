// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "criu/namespaces/net/networks_dump.hpp"
#include "criu/sockets/network_lock.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

/// Dump of network namespaces. In criu's own namespace, it dumps only the tree's sockets. If the root has a private
/// namespace, the calling thread is in it while the object exists: it reads sockets and changes packet filter rules
/// there.
class NetworkNamespaceDump final : public NamespaceDump {
public:
    explicit NetworkNamespaceDump(const DumpInputs& with)
        : NamespaceDump(NamespaceKind::Net, with),
          rootLock_(with.options.networkLock.value_or(sockets::defaultNetworkLock()), with.runId, with.log),
          networks_(with.options, rootLock_, with.runId, with.takeLink, with.numbers, with.stop, with.log) {
        with.nsContext.networks = &networks_;
        const auto criu = with.tree.criu.of(NamespaceKind::Net);
        const auto& processes = with.tree.processes;
        several_ = std::any_of(processes.begin(), processes.end(), [&](const SeenProcess& process) {
            return process.ids.of(NamespaceKind::Net) != with.tree.root().ids.of(NamespaceKind::Net);
        });
        if (!isOwn() && !several_) {
            networks_.begin(criu);
            return;
        }
        for (const SeenProcess& process : processes)
            requirePossible(process);
        with.log.stage("network");
        if (isOwn()) {
            const UniqueFd space = with.tree.root().dir.open("ns/net", O_RDONLY);
            visit_.emplace(space.get(), NamespaceKind::Net);
        }
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
        // Locks only private namespaces here. In criu's namespace, other code locks each connection separately, because
        // external processes use the namespace.
        if (isOwn()) {
            scriptsLocked_ = true;
            inputs().scriptsLock();
        }
        if (isOwn() || several_)
            networks_.lock();
    }

    void prepareKill() override { networks_.prepareKill(); }

    void write(const DumpOutputs& outputs) override {
        networks_.write(outputs.images);
        auto& names = outputs.extensions;
        if (!isOwn() && several_ && std::find(names.begin(), names.end(), kNonRootNsExtension) == names.end())
            names.emplace_back(kNonRootNsExtension);
    }

    void release(model::FinalState state) override {
        const bool goesOn = state == model::FinalState::Running;
        networks_.release(!goesOn);
        if (goesOn)
            unlockScripts();
        scriptsLocked_ = false;
    }

private:
    void requirePossible(const SeenProcess& process) const {
        const bool withCriu = process.ids.of(NamespaceKind::Net) == inputs().tree.criu.of(NamespaceKind::Net);
        if (isOwn() && withCriu)
            fail("{} is in another network namespace than the root of the tree: in that of criu", process.describe());
        if (isOwn() || withCriu)
            return;
        if (inputs().options.compat)
            fail(
                "{} is in another network namespace than the root of the tree, which is in that of criu, and CRIU 4.2 "
                "can't restore that",
                process.describe());
        // The process that creates a network namespace must return to criu's namespace afterwards. In a private user
        // namespace, it would lack the capabilities for this.
        if (inputs().nsContext.ids.isOwnNamespace())
            fail(
                "{} is in another network namespace than the root of the tree, which is in that of criu, but in a user "
                "namespace of its own; that can't be dumped yet",
                process.describe());
    }

    void unlockScripts() {
        if (std::exchange(scriptsLocked_, false))
            visit_->inOriginalNamespace([&] { inputs().scriptsUnlock(); });
    }

    // Set only if the root has a private namespace. Declared before the objects that unlock the network in this
    // namespace, so that it is destroyed after them.
    std::optional<kernel::NamespaceVisit> visit_;
    sockets::NetworkLock rootLock_;
    NetworksDump networks_;
    std::map<HostPid, std::uint32_t> numbers_;  ///< namespace ids; the key is the process
    bool several_ = false;                      ///< true if a process is in another namespace than the root
    bool scriptsLocked_ = false;                ///< true if action scripts were notified of the network lock
};

}  // namespace

std::unique_ptr<NamespaceDump> makeNetworkDump(const DumpInputs& inputs) {
    return std::make_unique<NetworkNamespaceDump>(inputs);
}

}  // namespace criu::namespaces
