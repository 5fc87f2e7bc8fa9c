// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <unordered_map>

#include "criu/base/ids.hpp"

namespace criu::model {

class NestedPids;

/// How a tree that stands still calls the processes, threads, groups and sessions that criu sees. A dump is done from
/// criu's own pid namespace, so whatever a system call of criu returns and its /proc shows is a HostPid; code that criu
/// runs in a process of the tree gets the numbers of the tree, which are those of images.
class TreePids {
public:
    /// The tree is in criu's pid namespace: all numbers are the same.
    TreePids() = default;
    /// The tree has a pid namespace of its own, of which nothing is known yet.
    [[nodiscard]] static TreePids ofOwnNamespace();

    /// A process, thread, group or session is known by these numbers. Nothing is noted of one that criu or the tree
    /// doesn't see.
    void add(HostPid outside, TreePid inside);

    /// Zero, as the kernel has it for whom a pid namespace doesn't see: one that isn't in the tree, or has ended.
    [[nodiscard]] TreePid inside(HostPid outside) const noexcept;

    [[nodiscard]] bool isOwnNamespace() const noexcept { return ownNamespace_; }
    /// Whether a process, thread, group or session of the tree, which has a namespace of its own, has this number.
    [[nodiscard]] bool has(TreePid number) const;

    /// Whoever is in a namespace below that of the tree's root has further numbers there. Ids of these namespaces are
    /// inodes.
    void setNested(NestedPids nested);
    [[nodiscard]] const NestedPids& nested() const noexcept;
    /// Whether a process that criu sees can see another one, which isn't zero.
    [[nodiscard]] bool sees(HostPid viewer, TreePid other) const noexcept;

private:
    std::shared_ptr<const NestedPids> nested_;  ///< null: there are none
    bool ownNamespace_ = false;
    std::unordered_map<HostPid, TreePid> inside_;
};

}  // namespace criu::model
