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

/// Client of a command, with its credentials: no command gives the client more privileges than it has. By default, the
/// client is the owner of criu, who has started criu directly. The kernel then enforces criu's own privileges.
///
/// The credentials are those at the time when the client connected. They come from its socket or a pidfd, never from
/// its messages. In each capability set, bit N stands for capability N.
struct Client {
    bool isOwner = true;  ///< the client has all privileges of criu; of the other fields, only `process` is used
    uid_t uid = 0;
    gid_t gid = 0;
    std::vector<gid_t> groups;       ///< supplementary groups
    std::uint64_t capabilities = 0;  ///< effective capabilities
    std::uint64_t boundingSet = 0;   ///< capabilities that the client can gain
    /// Pidfd of the client's process. It never refers to another process, even if the kernel reuses the pid.
    std::shared_ptr<const kernel::PidFd> process;
    /// Descriptor of the images directory that the client opened; -1 if it opened none. If a client only names a
    /// directory, criu opens it with criu's own privileges.
    int imagesDir = -1;
    int workDir = -1;  ///< descriptor of the work directory that the client opened; -1 for the images directory
};

}  // namespace criu::model
