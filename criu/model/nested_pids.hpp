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

/// A nested pid namespace.
struct NestedPidNs {
    std::uint32_t id;                            ///< dump: its inode; restore: its namespace id in images
    const NestedPidNs* parent;                   ///< null: the namespace of the tree's root
    unsigned depth;                              ///< 1 for a child of the root's namespace, and so on
    std::unordered_map<TreePid, pid_t> numbers;  ///< number of each process that is visible in it
};

/// Nested pid namespaces, and the numbers of processes, threads, process groups and sessions in them. A process in
/// such a namespace has a number there and in each namespace above, up to the root's namespace. Its number in the
/// root's namespace is its TreePid.
class NestedPids {
public:
    using Space = NestedPidNs;

    /// Returns the object of a tree without nested pid namespaces.
    [[nodiscard]] static const NestedPids& none() noexcept;
    [[nodiscard]] bool empty() const noexcept { return spaces_.empty(); }
    [[nodiscard]] const std::vector<std::unique_ptr<Space>>& all() const noexcept { return spaces_; }
    /// Returns the namespace with this id, or null.
    [[nodiscard]] Space* find(std::uint32_t id) const noexcept;

    /// Adds a namespace. `parent` is null for a child of the root's namespace. The result lives as long as this
    /// object.
    Space& add(std::uint32_t id, const Space* parent);
    /// Notes the number of a process in a namespace. Throws Error if it has another number there. The caller ensures
    /// that numbers are unique: the kernel does for a dump, and a reader of images checks it.
    void note(Space& space, TreePid who, pid_t number);

    /// Returns the deepest namespace in which a process is visible; null: the root's namespace.
    [[nodiscard]] const Space* of(TreePid who) const noexcept;
    /// Returns the number of a process in a namespace (null: the root's); zero if it isn't visible there.
    [[nodiscard]] static pid_t numberIn(const Space* space, TreePid who) noexcept;
    /// Returns all numbers of a process in the order of clone3(2): from its own namespace up to the root's.
    [[nodiscard]] std::vector<pid_t> numbersOf(TreePid who) const;
    /// True if a process is the first of a namespace.
    [[nodiscard]] bool isFirst(TreePid who) const noexcept;
    /// Returns the first process of a namespace; zero if it isn't known.
    [[nodiscard]] static TreePid firstOf(const Space& space) noexcept;

    /// Throws Error that names a process if the plan is impossible. A process enters a namespace only by birth: from
    /// a member, as its first process, or from above. It can be born into a process group that its namespace doesn't
    /// see, but can't join it later. Each namespace needs its first process.
    void require(const BirthPlan& plan) const;

    /// True if the creator puts a process into a namespace below its own that already has processes (setns(2)).
    [[nodiscard]] bool isPutInside(const BirthPlan& plan, const Birth& birth) const;

private:
    [[nodiscard]] const Space* placeOf(const BirthPlan& plan, TreePid process) const;

    std::vector<std::unique_ptr<Space>> spaces_;
    std::unordered_map<TreePid, const Space*> places_;  ///< deepest namespace of each process
};

}  // namespace criu::model
