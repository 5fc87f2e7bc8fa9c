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

/// Who a command is carried out for, and what that client may do by itself: no command gives it more. By default it is
/// whoever has started criu, at a terminal or as a part of something that root runs: then criu's own rights are the
/// limit, which the kernel enforces, and everything is allowed. Credentials are those that the client had when it
/// asked, taken from its connection or by a pidfd, never what it says of itself. Sets are masks: bit N stands for
/// capability N.
struct Client {
    bool isOwner = true;  ///< criu's rights are the client's; nothing below counts
    uid_t uid = 0;
    gid_t gid = 0;
    std::vector<gid_t> groups;       ///< besides `gid`
    std::uint64_t capabilities = 0;  ///< those it has in effect
    std::uint64_t boundingSet = 0;   ///< those it could get at all
    /// The process itself, whoever has its number later.
    std::shared_ptr<const kernel::PidFd> process;
    /// Directories that the client has opened itself: others have only the names that it gives, and criu's rights to
    /// look them up with. -1: none.
    int imagesDir = -1;
    int workDir = -1;  ///< -1: the images directory
};

}  // namespace criu::model
