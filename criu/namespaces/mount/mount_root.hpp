// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>

#include "criu/base/unique_fd.hpp"
#include "criu/namespaces/mount/mount_tree.hpp"
#include "criu/namespaces/namespace_restore.hpp"

namespace criu::namespaces {

/// Returns the topmost mount on the root directory of a mount namespace.
[[nodiscard]] const Mount& topmostRoot(const MountTree& tree);

/// Scope in which the process has a different root directory. The new root may be in another mount namespace, because a
/// path lookup below it works in any namespace.
class RootVisit {
public:
    /// `root`: descriptor of the new root. `move`: moves the descriptors of the present directories to free numbers.
    RootVisit(int root, const MoveFd& move);
    ~RootVisit() { back(); }
    RootVisit(const RootVisit&) = delete;
    RootVisit& operator=(const RootVisit&) = delete;

private:
    void back() const noexcept;

    UniqueFd root_;
    UniqueFd current_;
};

/// Mount namespace, root and current directory of the first process. The process returns to them after it has entered
/// another mount namespace.
class FirstProcessNsScope {
public:
    FirstProcessNsScope();
    void enter() const;

private:
    UniqueFd space_;
    UniqueFd root_;
    UniqueFd current_;
};

/// Makes a mount the root directory. The former root then covers it (pivot_root(2)).
void pivotTo(int root);

/// Unmounts criu's mounts, which cover the root, one after the other. Stops when "/" leads to the mount with id `top`.
void unmountUntil(std::optional<int> top);

/// Makes a mount that is in the mount staging the root directory. Then unmounts other mounts until "/" leads to the
/// mount with id `top`.
void enterRoot(const MountTree& tree, int staging, int root, std::optional<int> top);

}  // namespace criu::namespaces
