// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>

#include "criu/namespaces/namespace_dump.hpp"
#include "images/core.fwd.hpp"

namespace criu::device {
class DumpDevices;
}

namespace criu::engine {

class FrozenTree;
class Guardian;

/// Dumps the namespaces of a frozen tree. The destructor reverts the changes of the namespace kinds in reverse order.
class DumpNamespaces {
public:
    /// Examines all namespaces. Throws Error if criu can't dump a namespace. All arguments must outlive this object.
    DumpNamespaces(const model::Options& options, Log& log, StopRequest& stop, FrozenTree& tree,
                   const cgroup::PropertyTable& cgroupProperties, Guardian& guardian, device::DumpDevices& devices,
                   Refusals& refusals);
    ~DumpNamespaces();
    DumpNamespaces(const DumpNamespaces&) = delete;
    DumpNamespaces& operator=(const DumpNamespaces&) = delete;

    /// Returns the namespace context of the tree.
    [[nodiscard]] const namespaces::DumpNsContext& nsContext() const noexcept { return nsContext_; }
    /// Returns the unique id of this dump.
    [[nodiscard]] const std::string& runId() const noexcept { return runId_; }

    /// Stores the namespace ids of a process in `ids`. storeNumbersOfCriu() stores the ids of criu's namespaces.
    void storeNumbers(HostPid process, TaskKobjIdsEntry& ids) const;
    void storeNumbersOfCriu(TaskKobjIdsEntry& ids) const { numbers_.storeCriu(ids); }
    /// Returns the id in images of the namespace with this inode number. Returns nothing if a restore won't create this
    /// namespace.
    [[nodiscard]] std::optional<std::uint32_t> numberOf(kernel::NamespaceKind kind, std::uint32_t inode) const;

    /// Calls NamespaceDump::lock() of all namespace kinds. Each of the functions below also calls the NamespaceDump
    /// function of its name.
    void lock();
    void write(const namespaces::DumpOutputs& outputs);
    void prepareKill();
    void release(model::FinalState state);
    /// Destroys all namespace kinds. If release() wasn't called, the namespace kinds then revert their changes outside
    /// of the processes.
    void undo() noexcept;

private:
    static namespaces::SeenTree look(FrozenTree& tree, const Guardian& guardian);

    namespaces::SeenTree tree_;
    namespaces::ImageNsIds numbers_;
    std::string runId_;
    namespaces::DumpNsContext nsContext_;
    namespaces::DumpInputs inputs_;
    namespaces::NamespaceDumps kinds_;
};

}  // namespace criu::engine
