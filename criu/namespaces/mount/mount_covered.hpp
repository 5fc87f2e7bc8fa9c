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

/// Directories that mounts will cover, although criu creates files in them after all mounts are attached. criu opens
/// these directories before a mount covers them.
class CoveredDirectories {
public:
    void want(NamedDirectories named) { named_ = std::move(named); }

    /// Opens the wanted directories on `parent` that `child` will cover. `open`: descriptor of `parent`. Throws Error
    /// if a directory with DirectoryUse::Kept is missing.
    void openBelow(const Mount& parent, int open, const Mount& child);
    /// Throws Error if `child` would cover a directory with DirectoryUse::Kept. Call it for a namespace with copies of
    /// the mounts: a directory that criu opens now would be on the original mount, not on the copy.
    void requireNone(const Mount& parent, const Mount& child) const;

    /// Moves the opened directories to `hidden`, with descriptors that all restored processes inherit.
    void moveTo(files::HiddenMounts& hidden, kernel::FdStore& store);

private:
    NamedDirectories named_;
    std::map<int, std::map<std::string, UniqueFd>> opened_;
};

}  // namespace criu::namespaces
