// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/namespaces/namespace_restore.hpp"

namespace criu::namespaces {

/// A new namespace that belongs to a user namespace below that of the calling process, which mustn't be traced by those
/// who have rights there: a child goes there, and puts itself into it by `create`.
[[nodiscard]] UniqueFd createInUserns(const UniqueFd& owner, kernel::NamespaceKind kind, const Work& create);

/// The namespaces of one kind that processes of a tree were in, but not its root. They are made from the first one, so
/// that they belong to its user namespace; each process enters its own by a descriptor that all inherit.
class NonRootNs {
public:
    /// `numbers`: in images, each once. `surroundings` know who owns them, and outlive this.
    NonRootNs(kernel::NamespaceKind kind, const std::vector<std::uint32_t>& numbers,
              const RestoreNsContext& surroundings);

    [[nodiscard]] bool empty() const noexcept { return spaces_.empty(); }
    /// How many of them prepare() moves.
    [[nodiscard]] std::size_t descriptors() const noexcept;

    /// By criu: keeps descriptor numbers for them, for make().
    void prepare(kernel::FdStore& store);

    /// By the first process, when it is in its own: a child of it goes from one to the next, since the first process
    /// might not be allowed to come back. There `create` puts the calling process into a new one that is for this
    /// number, or returns false for one that another process is going to make; until then its descriptor is of the
    /// first process' own. For one that belongs to a further user namespace the calling process is in that, and has no
    /// descriptors.
    void make(const std::function<bool(std::uint32_t number)>& create);
    /// By who makes one of them in another way, before it creates those processes that are going to enter it.
    void provide(std::uint32_t number, const UniqueFd& made) const;

    /// By criu, when the first process, a /proc/PID, has made them: opens them.
    void fetch(const kernel::ProcPid& first);
    /// By criu: runs `work` in one of them, in a thread of its own.
    void visit(std::uint32_t number, const Work& work) const;

    /// By a restored process, which comes from that of its creator.
    void enter(const model::Task& task) const;
    /// By another thread of that process, which existed when enter() was called and is where it was before.
    void follow() const;

private:
    struct Space {
        std::uint32_t number;
        UniqueFd fd;
        UniqueFd fetched;
    };
    [[nodiscard]] const Space* find(std::uint32_t number) const noexcept;

    kernel::NamespaceKind kind_;
    const RestoreNsContext& surroundings_;
    std::vector<Space> spaces_;
    UniqueFd ofFirst_;
    mutable int entered_ = -1;           ///< what enter() has entered in this process
    mutable std::uint32_t current_ = 0;  ///< that of this process, which every process inherits; 0: the first one's own
};

}  // namespace criu::namespaces
