// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>

#include "criu/base/ids.hpp"
#include "criu/base/mapping.hpp"
#include "criu/model/id_map.hpp"

namespace criu::namespaces {

class JoinedNamespaces;

/// Existing user namespace in which the caller wants the whole tree (--join-ns user), instead of a new one. A helper of
/// criu enters it, and creates the first process there, because criu itself couldn't leave it again. The namespaces
/// that the first process gets at birth then belong to the given user namespace.
class GivenUserns {
public:
    /// Throws Error if criu can't enter the namespace. `joined` must outlive the object. `asSibling`: true if the first
    /// process must become a child of criu's parent (--restore-sibling).
    GivenUserns(const JoinedNamespaces& joined, bool asSibling);

    /// Returns the id map of the namespace.
    [[nodiscard]] const model::IdMap& ids() const noexcept { return ids_; }

    /// Calls `create` in the helper, which first enters all namespaces of --join-ns. `create` creates a process with
    /// CLONE_PARENT, and doesn't return in it. Returns the pid of this process. Throws Error.
    [[nodiscard]] HostPid createInside(const std::function<HostPid()>& create) const;

private:
    const JoinedNamespaces& joined_;
    bool asSibling_;
    model::IdMap ids_;
    /// Memory that the helper shares with criu. Exists before criu lists its mappings, because the first process
    /// inherits it.
    Mapping report_;
};

}  // namespace criu::namespaces
