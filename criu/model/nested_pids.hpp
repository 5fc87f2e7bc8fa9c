// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "criu/base/ids.hpp"

namespace criu::model {

struct Birth;
class BirthPlan;

/// Pid namespace below the root's pid namespace.
struct NestedPidNs {
    std::uint32_t id;           ///< in a dump, the inode of the namespace; in a restore, its namespace id in images
    const NestedPidNs* parent;  ///< parent namespace; nullptr if the parent is the root's pid namespace
    unsigned depth;             ///< depth below the root's pid namespace; 1 for a child of it
    std::unordered_map<TreePid, pid_t> numbers;  ///< pids in this namespace; the key is a process that is visible in it
};

/// Nested pid namespaces, with the pids of processes, threads, process groups and sessions in them. A process in a
/// nested namespace has a pid there and in each namespace above, up to the root's namespace. Its pid in the root's
/// namespace is its TreePid.
class NestedPids {
public:
    using Space = NestedPidNs;

    /// Returns the object for a tree without nested pid namespaces.
    [[nodiscard]] static const NestedPids& none() noexcept;
    [[nodiscard]] bool empty() const noexcept { return spaces_.empty(); }
    [[nodiscard]] const std::vector<std::unique_ptr<Space>>& all() const noexcept { return spaces_; }
    /// Returns the namespace with this id; nullptr if it doesn't exist.
    [[nodiscard]] Space* find(std::uint32_t id) const noexcept;

    /// Adds a namespace. `parent` is nullptr for a child of the root's namespace. The returned reference is valid as
    /// long as this object.
    Space& add(std::uint32_t id, const Space* parent);
    /// Stores the pid of a process in a namespace. Throws Error if the process already has another pid there. The
    /// caller ensures that pids are unique: in a dump, they come from the kernel; in a restore, the reader of images
    /// checks them.
    void note(Space& space, TreePid who, pid_t number);

    /// Returns the deepest namespace in which a process is visible; nullptr for the root's namespace.
    [[nodiscard]] const Space* of(TreePid who) const noexcept;
    /// Returns the pid of a process in a namespace (nullptr for the root's namespace); 0 if the process isn't visible
    /// there.
    [[nodiscard]] static pid_t numberIn(const Space* space, TreePid who) noexcept;
    /// Returns all pids of a process in the order of clone3(2): from the namespace of the process up to the root's
    /// namespace.
    [[nodiscard]] std::vector<pid_t> numbersOf(TreePid who) const;
    /// Returns true if a process is the first process of a namespace.
    [[nodiscard]] bool isFirst(TreePid who) const noexcept;
    /// Returns the first process of a namespace; 0 if it isn't known.
    [[nodiscard]] static TreePid firstOf(const Space& space) noexcept;

    /// Throws Error that names a process if the kernel can't create the planned processes. Each namespace needs a first
    /// process. A process enters a namespace only by birth: from a member of the namespace, as its first process, or
    /// from a namespace above. A process can be born into a process group that isn't visible in its namespace, but
    /// can't join such a group later.
    void require(const BirthPlan& plan) const;

    /// Returns true if the creator puts the process into a lower namespace that already has processes (setns(2)).
    [[nodiscard]] bool isPutInside(const BirthPlan& plan, const Birth& birth) const;

private:
    [[nodiscard]] const Space* placeOf(const BirthPlan& plan, TreePid process) const;

    std::vector<std::unique_ptr<Space>> spaces_;
    /// Deepest namespace of each process that is in a nested namespace.
    std::unordered_map<TreePid, const Space*> places_;
};

}  // namespace criu::model
