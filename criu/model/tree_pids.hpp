// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <unordered_map>

#include "criu/base/ids.hpp"

namespace criu::model {

class NestedPids;

/// Map from HostPid to TreePid of a frozen tree. criu runs in its own pid namespace, so that system calls and /proc
/// give it HostPids. Code that criu runs in a process of the tree gets TreePids; images contain these, too.
class TreePids {
public:
    /// Makes the map for a tree in criu's pid namespace. In this namespace, a TreePid equals the HostPid.
    TreePids() = default;
    /// Makes an empty map for a tree in a private pid namespace.
    [[nodiscard]] static TreePids ofOwnNamespace();

    /// Adds the ids of a process, thread, group or session. Ignores an id that criu or the tree can't see.
    void add(HostPid outside, TreePid inside);

    /// Returns the TreePid. Returns 0 if the task isn't in the tree or has ended; the kernel also shows 0 for invisible
    /// tasks.
    [[nodiscard]] TreePid inside(HostPid outside) const noexcept;

    [[nodiscard]] bool isOwnNamespace() const noexcept { return ownNamespace_; }
    /// Returns true if a process, thread, group or session of the tree has this id. Only for a tree in a private pid
    /// namespace.
    [[nodiscard]] bool has(TreePid number) const;

    /// Sets the nested pid namespaces. Their ids are inodes.
    void setNested(NestedPids nested);
    [[nodiscard]] const NestedPids& nested() const noexcept;
    /// Returns true if the process `viewer` can see the process `other`, which must not be 0.
    [[nodiscard]] bool sees(HostPid viewer, TreePid other) const noexcept;

private:
    std::shared_ptr<const NestedPids> nested_;  ///< nullptr if the tree has no nested pid namespaces
    bool ownNamespace_ = false;
    std::unordered_map<HostPid, TreePid> inside_;
};

}  // namespace criu::model
