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

/// A pid namespace below the one that the root of a tree is in.
struct NestedPidNs {
    std::uint32_t id;                            ///< dump: its inode; restore: its number in images
    const NestedPidNs* parent;                   ///< null: the namespace of the tree's root
    unsigned depth;                              ///< how many namespaces are between it and that one, plus one
    std::unordered_map<TreePid, pid_t> numbers;  ///< of all that can be seen from it
};

/// All pid namespaces below the one that the root of a tree is in, and what processes, threads, process groups and
/// sessions are called there. Whoever is in such a namespace has a number in it, and one in each namespace above, up to
/// that of the root, which is its TreePid.
class NestedPids {
public:
    using Space = NestedPidNs;

    /// Those of a tree that has none.
    [[nodiscard]] static const NestedPids& none() noexcept;
    [[nodiscard]] bool empty() const noexcept { return spaces_.empty(); }
    [[nodiscard]] const std::vector<std::unique_ptr<Space>>& all() const noexcept { return spaces_; }
    /// Null: there is none with this id.
    [[nodiscard]] Space* find(std::uint32_t id) const noexcept;

    /// `parent`: null for the namespace of the tree's root. The result lives as long as this object.
    Space& add(std::uint32_t id, const Space* parent);
    /// Somebody is seen from a namespace by this number. Throws Error if it's known by another number there. That
    /// nobody else has the number is for the caller to know: the kernel sees to it on a dump, who reads images checks
    /// it.
    void note(Space& space, TreePid who, pid_t number);

    /// Where somebody is: the deepest namespace that sees it. Null: in that of the tree's root.
    [[nodiscard]] const Space* of(TreePid who) const noexcept;
    /// What somebody is called in a namespace (null: that of the tree's root); zero if it can't be seen from there.
    [[nodiscard]] static pid_t numberIn(const Space* space, TreePid who) noexcept;
    /// All numbers of somebody, in the order that clone3(2) wants: its own first, that of the tree's root last.
    [[nodiscard]] std::vector<pid_t> numbersOf(TreePid who) const;
    /// Whether a process is the first one of a namespace.
    [[nodiscard]] bool isFirst(TreePid who) const noexcept;
    /// The first process of a namespace; zero if it isn't known.
    [[nodiscard]] static TreePid firstOf(const Space& space) noexcept;

    /// Throws Error, with the process, if a plan can't be carried out: a process gets into a namespace only by being
    /// created by one that is there, as its first one, or from above; and it can join no process group that it doesn't
    /// see, but only be born into it. Each namespace has its first process among them.
    void require(const BirthPlan& plan) const;

    /// Whether the creator of a process puts it into a namespace below its own that others are in already (setns(2)).
    [[nodiscard]] bool isPutInside(const BirthPlan& plan, const Birth& birth) const;

private:
    [[nodiscard]] const Space* placeOf(const BirthPlan& plan, TreePid process) const;

    std::vector<std::unique_ptr<Space>> spaces_;
    std::unordered_map<TreePid, const Space*> places_;  ///< the deepest for each
};

}  // namespace criu::model
