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

/// The namespaces of a tree that stands still: all kinds of them, asked in order, and undone in reverse order.
class DumpNamespaces {
public:
    /// Looks at all namespaces; throws Error for what can't be dumped. All arguments outlive this object.
    DumpNamespaces(const model::Options& options, Log& log, StopRequest& stop, FrozenTree& tree,
                   const cgroup::PropertyTable& cgroupProperties, Guardian& guardian, device::DumpDevices& devices);
    ~DumpNamespaces();
    DumpNamespaces(const DumpNamespaces&) = delete;
    DumpNamespaces& operator=(const DumpNamespaces&) = delete;

    /// What is around the processes and isn't as it is for criu.
    [[nodiscard]] const namespaces::DumpNsContext& surroundings() const noexcept { return surroundings_; }
    /// A name of this dump that no other has.
    [[nodiscard]] const std::string& runId() const noexcept { return runId_; }

    /// The numbers of the namespaces that a process is in, and of those of criu.
    void storeNumbers(HostPid process, TaskKobjIdsEntry& ids) const;
    void storeNumbersOfCriu(TaskKobjIdsEntry& ids) const { numbers_.storeCriu(ids); }
    /// The number of a namespace, by its inode; nothing if no restore would have it.
    [[nodiscard]] std::optional<std::uint32_t> numberOf(kernel::NamespaceKind kind, std::uint32_t inode) const;

    /// As namespaces::NamespaceDump has them.
    void lock();
    void write(const namespaces::DumpOutputs& outputs);
    void release(model::FinalState state);
    /// As the destructor does: takes back what was done outside of the processes, unless release() was called.
    void undo() noexcept;

private:
    static namespaces::SeenTree look(FrozenTree& tree, const Guardian& guardian);

    namespaces::SeenTree tree_;
    namespaces::ImageNsIds numbers_;
    std::string runId_;
    namespaces::DumpNsContext surroundings_;
    namespaces::DumpInputs inputs_;
    namespaces::NamespaceDumps kinds_;
};

}  // namespace criu::engine
