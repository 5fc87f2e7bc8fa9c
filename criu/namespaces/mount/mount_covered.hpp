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

/// Directories in which something is made when all mounts are in their places, and which some of these cover. They are
/// opened before that.
class CoveredDirectories {
public:
    void want(NamedDirectories named) { named_ = std::move(named); }

    /// `child` is about to be put on `parent`, which is open. Throws Error if a directory that has to be there isn't.
    void openBelow(const Mount& parent, int open, const Mount& child);
    /// The same in a namespace whose mounts are copied once they are in their places, so that what is opened now would
    /// be elsewhere. Throws Error if a directory is going to be covered.
    void requireNone(const Mount& parent, const Mount& child) const;

    /// All restored processes inherit what was opened.
    void moveTo(files::HiddenMounts& hidden, kernel::FdStore& store);

private:
    NamedDirectories named_;
    std::map<int, std::map<std::string, UniqueFd>> opened_;
};

}  // namespace criu::namespaces
