// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <unordered_map>

#include "criu/base/ids.hpp"

namespace criu::model {

class NestedPids;

/// Map from HostPid to TreePid of a frozen tree. criu dumps from its own pid namespace, so system calls and /proc
/// give it HostPids. Code that criu runs in a process of the tree gets TreePids, which images store.
class TreePids {
public:
    /// For a tree in criu's pid namespace: all ids are the same.
    TreePids() = default;
    /// Makes an empty map for a tree in its own pid namespace.
    [[nodiscard]] static TreePids ofOwnNamespace();

    /// Adds the ids of a process, thread, group or session. Ignores one that criu or the tree doesn't see.
    void add(HostPid outside, TreePid inside);

    /// Returns the TreePid. Returns zero if the task isn't in the tree or has ended, like the kernel for invisible
    /// tasks.
    [[nodiscard]] TreePid inside(HostPid outside) const noexcept;

    [[nodiscard]] bool isOwnNamespace() const noexcept { return ownNamespace_; }
    /// True if a process, thread, group or session of a tree in its own pid namespace has this id.
    [[nodiscard]] bool has(TreePid number) const;

    /// Sets the nested pid namespaces, where processes have further numbers. Their ids are inodes.
    void setNested(NestedPids nested);
    [[nodiscard]] const NestedPids& nested() const noexcept;
    /// True if a process that criu sees can see another one, which isn't zero.
    [[nodiscard]] bool sees(HostPid viewer, TreePid other) const noexcept;

private:
    std::shared_ptr<const NestedPids> nested_;  ///< null: none exist
    bool ownNamespace_ = false;
    std::unordered_map<HostPid, TreePid> inside_;
};

}  // namespace criu::model
