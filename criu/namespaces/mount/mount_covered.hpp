// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <string>

#include "criu/base/unique_fd.hpp"
#include "criu/files/tree_root.hpp"
#include "criu/namespaces/mount/mount_helpers.hpp"
#include "criu/namespaces/mount/mount_tree.hpp"

namespace criu::kernel {
class FdStore;
}

namespace criu::namespaces {

/// Directories that mounts cover, and in which files are created when all mounts are in place. They are opened before
/// they are covered.
class CoveredDirectories {
public:
    void want(NamedDirectories named) { named_ = std::move(named); }

    /// Opens the wanted directories on `parent` before `child` is mounted on it; `open` is a descriptor of `parent`.
    /// Throws Error if a directory of use Kept is missing.
    void openBelow(const Mount& parent, int open, const Mount& child);
    /// For a namespace that gets copies of the mounts: a directory opened now would be on the original mount. Throws
    /// Error if `child` would cover a directory of use Kept.
    void requireNone(const Mount& parent, const Mount& child) const;

    /// Moves the opened directories to descriptors that all restored processes inherit.
    void moveTo(files::HiddenMounts& hidden, kernel::FdStore& store);

private:
    NamedDirectories named_;
    std::map<int, std::map<std::string, UniqueFd>> opened_;
};

}  // namespace criu::namespaces
