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

/// Creates a namespace that belongs to a nested user namespace. A child enters the user namespace and calls `create`.
/// Processes with capabilities in that user namespace mustn't be able to trace the caller.
[[nodiscard]] UniqueFd createInUserns(const UniqueFd& owner, kernel::NamespaceKind kind, const Work& create);

/// The non-root namespaces of one kind. They are created from the first process' namespace, so they belong to its user
/// namespace. Each process enters its namespace by an inherited descriptor.
class NonRootNs {
public:
    /// `numbers`: namespace ids, each once. `nsContext` knows their owners and outlives this object.
    NonRootNs(kernel::NamespaceKind kind, const std::vector<std::uint32_t>& numbers, const RestoreNsContext& nsContext);

    [[nodiscard]] bool empty() const noexcept { return spaces_.empty(); }
    /// Returns how many descriptors prepare() moves.
    [[nodiscard]] std::size_t descriptors() const noexcept;

    /// In the coordinator: reserves descriptor numbers for make().
    void prepare(kernel::FdStore& store);

    /// In the first process, when it is in its private namespace. A child goes from one namespace to the next, because
    /// the first process might not be permitted to return. `create` moves the calling process into a new namespace for
    /// a namespace id. It returns false if another process creates that namespace later; until then the descriptor
    /// refers to the first process' namespace. For a namespace of a nested user namespace, the calling process is in
    /// that user namespace and has no descriptors.
    void make(const std::function<bool(std::uint32_t number)>& create);
    /// Called by the process that creates a namespace itself, before it creates the processes that enter the namespace.
    void provide(std::uint32_t number, const UniqueFd& made) const;

    /// In the coordinator, when the first process has created them: opens them. `first` is its /proc/PID.
    void fetch(const kernel::ProcPid& first);
    /// In the coordinator: runs `work` in a new thread in one of them.
    void visit(std::uint32_t number, const Work& work) const;

    /// In a restored process: moves it from its creator's namespace to its own.
    void enter(const model::Task& task) const;
    /// In another thread of the process: enters the namespace that enter() entered. The thread existed before that
    /// call.
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
    mutable int entered_ = -1;  ///< descriptor of the namespace that enter() entered in this process; -1: none
    /// namespace id that this process is in; children inherit it; 0: the first process'
    mutable std::uint32_t current_ = 0;
};

}  // namespace criu::namespaces
