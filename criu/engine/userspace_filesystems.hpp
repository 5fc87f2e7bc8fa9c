// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>

#include "criu/base/unique_fd.hpp"

namespace criu::engine {

class FrozenTree;

/// Userspace and remote file systems that the tree uses. A server in the frozen tree would never reply. Another server
/// may stop at any time. criu would then wait, with the tree frozen, in a system call that only SIGKILL ends, or not
/// even SIGKILL (FilesystemWatchdog).
///
/// A use is an open file, a mapping, a directory, a program, or a FUSE mount in a mount namespace that isn't criu's. If
/// another user than root owns the tree, overlays and file systems that are mounted nowhere count, too: their servers
/// are unknown. For trees of root, unmounted FUSE file systems are found if fusectl is mounted
/// (/sys/fs/fuse/connections).
class UserspaceFilesystems {
public:
    /// Finds the file systems without a request to any server. Throws Error if the server may be in the tree: a process
    /// has /dev/fuse open.
    explicit UserspaceFilesystems(FrozenTree& tree);

    [[nodiscard]] bool used() const noexcept { return used_; }
    /// Returns the devices of those in mount namespaces of the tree.
    [[nodiscard]] const std::set<dev_t>& devices() const noexcept { return devices_; }
    /// Returns their names in messages, such as "/mnt (fuse)".
    [[nodiscard]] const std::map<dev_t, std::string>& names() const noexcept { return names_; }
    /// Sends a request to each file system in use, and returns when all have replied. If one doesn't reply,
    /// FilesystemWatchdog ends this process.
    void requireResponsive() const;

private:
    bool used_ = false;
    std::set<dev_t> devices_;
    std::map<dev_t, std::string> names_;
    std::map<dev_t, UniqueFd> samples_;  ///< O_PATH descriptor of one file on each file system
};

}  // namespace criu::engine
