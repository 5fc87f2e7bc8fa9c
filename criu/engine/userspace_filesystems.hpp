// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>

#include "criu/base/unique_fd.hpp"

namespace criu::engine {

class FrozenTree;

/// File systems for which a process answers (FUSE), or another machine. A process of the frozen tree would never answer
/// again, and anybody else may stop to at any time, while the tree stands still and criu waits in a system call that no
/// signal but SIGKILL ends, or not even that one (FilesystemWatchdog).
///
/// Such file systems that processes of the tree use: open files, mappings, directories, programs, or a mount of FUSE in
/// a mount namespace that isn't criu's. If the tree isn't root's, file systems count as well that are mounted nowhere,
/// and overlays, since nobody knows who answers for them. In trees of root those of FUSE are found that are mounted
/// nowhere, if the kernel's list of them is mounted (fusectl at /sys/fs/fuse/connections).
class UserspaceFilesystems {
public:
    /// Nothing that is done here has the kernel ask a server. Throws Error if a server may be one of the tree: if one
    /// of its processes has /dev/fuse open.
    explicit UserspaceFilesystems(FrozenTree& tree);

    [[nodiscard]] bool used() const noexcept { return used_; }
    /// Those there are in the mount namespaces of the tree.
    [[nodiscard]] const std::set<dev_t>& devices() const noexcept { return devices_; }
    /// What they are called in messages: "/mnt (fuse)".
    [[nodiscard]] const std::map<dev_t, std::string>& names() const noexcept { return names_; }
    /// Asks each of them that is used for something and returns when all have answered. Where one doesn't, an
    /// FilesystemWatchdog ends this process.
    void requireResponsive() const;

private:
    bool used_ = false;
    std::set<dev_t> devices_;
    std::map<dev_t, std::string> names_;
    std::map<dev_t, UniqueFd> samples_;  ///< O_PATH descriptors of a file on each
};

}  // namespace criu::engine
