// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace criu::kernel {
class PidFd;
}

namespace criu::model {

/// The client of a command, and its own rights: no command gives it more. By default it is the owner of criu, who
/// started criu directly; the kernel enforces criu's own rights then. The credentials date from the time when
/// the client connected. They come from its socket or a pidfd, never from its messages. Bit N of a set is capability N.
struct Client {
    bool isOwner = true;  ///< the client has all rights of criu; all fields below are unused
    uid_t uid = 0;
    gid_t gid = 0;
    std::vector<gid_t> groups;       ///< in addition to `gid`
    std::uint64_t capabilities = 0;  ///< effective set
    std::uint64_t boundingSet = 0;   ///< capabilities that it can gain
    /// Process of the client, even after reuse of its pid.
    std::shared_ptr<const kernel::PidFd> process;
    /// Descriptor of the images directory that the client opened; -1: none. Directories that a client only names are
    /// opened with criu's rights.
    int imagesDir = -1;
    int workDir = -1;  ///< -1: the images directory
};

}  // namespace criu::model
