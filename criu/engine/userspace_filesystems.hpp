// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>

#include "criu/base/unique_fd.hpp"

namespace criu::engine {

class FrozenTree;

/// Userspace and remote file systems that the tree uses. If a FUSE server is in the frozen tree, it never replies;
/// another server may stop replying at any time. criu would then wait in a system call, with the tree frozen.
/// FilesystemWatchdog ends such a wait.
///
/// The tree uses a file system by an open file, a mapping, a directory, a program, or a FUSE mount in a mount namespace
/// that isn't criu's. In trees of users other than root, overlays and unmounted file systems also count, because they
/// may hide a server. In trees of root, criu finds unmounted FUSE file systems if fusectl is mounted
/// (/sys/fs/fuse/connections).
class UserspaceFilesystems {
public:
    /// Finds the file systems without sending a request to a server. Throws Error if a process of the tree has
    /// /dev/fuse open, because its FUSE server may then be in the tree.
    explicit UserspaceFilesystems(FrozenTree& tree);

    [[nodiscard]] bool used() const noexcept { return used_; }
    /// Returns the devices of the userspace and remote file systems in mount namespaces of the tree.
    [[nodiscard]] const std::set<dev_t>& devices() const noexcept { return devices_; }
    /// Returns the names of the file systems for messages, such as "/mnt (fuse)". The key is the device.
    [[nodiscard]] const std::map<dev_t, std::string>& names() const noexcept { return names_; }
    /// Sends a request to each file system in use, and returns when all have replied. If a file system doesn't reply,
    /// FilesystemWatchdog ends this process.
    void requireResponsive() const;

private:
    bool used_ = false;
    std::set<dev_t> devices_;
    std::map<dev_t, std::string> names_;
    std::map<dev_t, UniqueFd> samples_;  ///< O_PATH descriptor of one file on each file system
};

}  // namespace criu::engine
