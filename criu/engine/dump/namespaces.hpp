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
    /// Examines all namespaces. Throws Error for what can't be dumped. All arguments outlive this object.
    DumpNamespaces(const model::Options& options, Log& log, StopRequest& stop, FrozenTree& tree,
                   const cgroup::PropertyTable& cgroupProperties, Guardian& guardian, device::DumpDevices& devices);
    ~DumpNamespaces();
    DumpNamespaces(const DumpNamespaces&) = delete;
    DumpNamespaces& operator=(const DumpNamespaces&) = delete;

    /// Returns the namespace context of the tree.
    [[nodiscard]] const namespaces::DumpNsContext& nsContext() const noexcept { return nsContext_; }
    /// Returns the unique id of this dump.
    [[nodiscard]] const std::string& runId() const noexcept { return runId_; }

    /// Store the namespace ids of a process, and those of criu.
    void storeNumbers(HostPid process, TaskKobjIdsEntry& ids) const;
    void storeNumbersOfCriu(TaskKobjIdsEntry& ids) const { numbers_.storeCriu(ids); }
    /// Returns the id of a namespace by its inode; nothing if a restore doesn't create that namespace.
    [[nodiscard]] std::optional<std::uint32_t> numberOf(kernel::NamespaceKind kind, std::uint32_t inode) const;

    /// Call the functions of the same names of namespaces::NamespaceDump for all kinds.
    void lock();
    void write(const namespaces::DumpOutputs& outputs);
    void prepareKill();
    void release(model::FinalState state);
    /// Reverts changes outside of the processes unless release() was called. The destructor calls it, too.
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
