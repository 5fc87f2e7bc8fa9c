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

/// Existing namespaces that the restored tree joins (--join-ns). The images' content of these namespace kinds isn't
/// restored.
class JoinedNamespaces {
public:
    /// Throws Error if a namespace doesn't exist or is of another kind, or if a kind occurs twice or can't be joined.
    explicit JoinedNamespaces(const model::Options& options);

    [[nodiscard]] bool has(kernel::NamespaceKind kind) const { return fds_.contains(kind); }
    /// Returns a descriptor that this object keeps; -1 if no namespace of this kind is joined.
    [[nodiscard]] int descriptor(kernel::NamespaceKind kind) const;

    /// Moves the descriptors to numbers that no restored process uses.
    void inherit(kernel::FdStore& store);

    /// Moves the calling thread into the joined namespace of this kind, if there is one. For a time namespace the
    /// process must have one thread.
    void enter(kernel::NamespaceKind kind) const;

private:
    std::map<kernel::NamespaceKind, UniqueFd> fds_;
};

/// Throws Error unless a descriptor refers to a namespace of this kind. `what` names the descriptor in the message.
void requireNamespace(int fd, kernel::NamespaceKind kind, std::string_view what);

}  // namespace criu::namespaces
