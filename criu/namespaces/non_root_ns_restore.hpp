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

/// Creates a namespace that belongs to the nested user namespace `owner`. For this, a child process enters the user
/// namespace and calls `create`. Processes with capabilities in this user namespace must not be able to trace the
/// caller.
[[nodiscard]] UniqueFd createInUserns(const UniqueFd& owner, kernel::NamespaceKind kind, const Work& create);

/// Non-root namespaces of one kind in a restore. The first process creates them, so that its user namespace owns them.
/// Each process enters its namespace by an inherited descriptor.
class NonRootNs {
public:
    /// `numbers`: namespace ids without duplicates. `nsContext` returns their owners, and must outlive this object.
    NonRootNs(kernel::NamespaceKind kind, const std::vector<std::uint32_t>& numbers, const RestoreNsContext& nsContext);

    [[nodiscard]] bool empty() const noexcept { return spaces_.empty(); }
    /// Returns the number of descriptors that prepare() moves.
    [[nodiscard]] std::size_t descriptors() const noexcept;

    /// Reserves descriptor numbers for make(). Runs in the coordinator.
    void prepare(kernel::FdStore& store);

    /// Creates the namespaces. Runs in the first process, when this process is in its private namespace. A child
    /// process changes from one namespace to the next, because the first process may lack the capabilities to return.
    ///
    /// `create`: moves the calling process into a new namespace with this namespace id. Returns false if another
    /// process creates this namespace later; until then, the descriptor refers to the first process' namespace. If a
    /// nested user namespace owns the namespace, the process that calls `create` is in this user namespace, and has no
    /// descriptors.
    void make(const std::function<bool(std::uint32_t number)>& create);
    /// Sets the descriptor of a namespace for which `create` returned false. Called by the process that creates the
    /// namespace, before it creates processes that enter the namespace.
    void provide(std::uint32_t number, const UniqueFd& made) const;

    /// Opens the namespaces by the first process, after this process has created them. Runs in the coordinator.
    /// `first`: directory /proc/PID of the process.
    void fetch(const kernel::ProcPid& first);
    /// Runs `work` in a new thread in a namespace. Runs in the coordinator, after fetch().
    void visit(std::uint32_t number, const Work& work) const;

    /// Moves a restored process from its creator's namespace to its own.
    void enter(const model::Task& task) const;
    /// Moves another thread of the process into the namespace that enter() has entered. Needed for a thread that
    /// existed before enter().
    void follow() const;

private:
    struct Space {
        std::uint32_t number;
        UniqueFd fd;
        UniqueFd fetched;
    };
    [[nodiscard]] const Space* find(std::uint32_t number) const noexcept;

    kernel::NamespaceKind kind_;
    const RestoreNsContext& nsContext_;
    std::vector<Space> spaces_;
    UniqueFd ofFirst_;
    /// Descriptor of the namespace that enter() entered in this process; -1 if it entered none.
    mutable int entered_ = -1;
    /// Namespace id of the namespace in which this process is; 0 for the first process' namespace. Child processes
    /// inherit the value.
    mutable std::uint32_t current_ = 0;
};

}  // namespace criu::namespaces
