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

/// Existing namespaces that the restored tree joins (--join-ns). For the kinds of these namespaces, criu doesn't
/// restore the content of the images.
class JoinedNamespaces {
public:
    /// Opens the namespaces. Throws Error if a namespace doesn't exist, is of another kind than its option says, or
    /// can't be joined. Throws Error if a kind occurs twice.
    explicit JoinedNamespaces(const model::Options& options);

    [[nodiscard]] bool has(kernel::NamespaceKind kind) const { return fds_.contains(kind); }
    /// Returns a borrowed descriptor of the namespace, or -1 if no namespace of this kind is joined.
    [[nodiscard]] int descriptor(kernel::NamespaceKind kind) const;

    /// Moves the descriptors to numbers that no restored process uses.
    void inherit(kernel::FdStore& store);

    /// Moves the calling thread into the joined namespace of this kind. Does nothing if no such namespace is joined.
    /// For a time namespace, the process must have only one thread.
    void enter(kernel::NamespaceKind kind) const;

private:
    std::map<kernel::NamespaceKind, UniqueFd> fds_;
};

/// Throws Error if a descriptor doesn't refer to a namespace of this kind. `what`: name of the descriptor for the
/// message.
void requireNamespace(int fd, kernel::NamespaceKind kind, std::string_view what);

}  // namespace criu::namespaces
