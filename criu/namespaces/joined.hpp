// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/proc/proc_ns.hpp"

namespace criu::kernel {
class FdStore;
}

namespace criu::model {
struct Options;
}

namespace criu::namespaces {

/// Existing namespaces that the restored tree is put into (--join-ns), whatever it was in before. What images say of
/// the content of such a kind isn't restored.
class JoinedNamespaces {
public:
    /// Throws Error if one doesn't exist, is of another kind than said, or a kind is there twice or can't be joined.
    explicit JoinedNamespaces(const model::Options& options);

    [[nodiscard]] bool has(kernel::NamespaceKind kind) const { return fds_.contains(kind); }
    /// Stays ours; -1 if there is none.
    [[nodiscard]] int descriptor(kernel::NamespaceKind kind) const;

    /// Moves descriptors to where they are in nobody's way.
    void inherit(kernel::FdStore& store);

    /// The calling thread goes there, if there is one of this kind. Into a time namespace: only as the single thread of
    /// its process.
    void enter(kernel::NamespaceKind kind) const;

private:
    std::map<kernel::NamespaceKind, UniqueFd> fds_;
};

/// Throws Error unless a descriptor is of a namespace of this kind; `what` names it.
void requireNamespace(int fd, kernel::NamespaceKind kind, std::string_view what);

}  // namespace criu::namespaces
