// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "criu/base/unique_fd.hpp"

/// Functions for autofs. In this file system, a daemon mounts file systems on directories when a process first accesses
/// them. The kernel writes a request to the daemon's pipe. The accessing process waits until the daemon completes the
/// request.
namespace criu::kernel {

enum class AutofsType : std::uint8_t {
    Direct,    ///< the daemon mounts file systems on the root directory
    Indirect,  ///< the daemon mounts file systems on directories below the root
    Offset,    ///< like Direct, but the root directory is within another autofs
};

/// Options of an autofs, as mountinfo shows them.
struct AutofsOptions {
    /// Descriptor number of the pipe in the daemon; -1 if the autofs is catatonic: the kernel then sends no requests.
    int pipe = -1;
    /// Process group of the daemon. If a process of this group accesses the autofs, the kernel sends no request.
    pid_t group = 0;
    std::uint64_t timeout = 0;  ///< seconds after which the daemon unmounts an unused mount
    int minProtocol = 0;
    int maxProtocol = 0;
    AutofsType type{};
    std::optional<uid_t> user;  ///< uid of the root directory; unset if the uid is 0
    std::optional<gid_t> owningGroup;
    bool strictExpire = false;
    bool ignored = false;  ///< true if programs that list mounts should skip this mount
    /// Inode of the pipe. Unset for a catatonic autofs, or if the kernel lacks CONFIG_CHECKPOINT_RESTORE.
    std::optional<std::uint64_t> pipeInode;
};

/// Parses the file system's options, separated by commas. Throws Error for unknown options.
[[nodiscard]] AutofsOptions parseAutofsOptions(std::string_view text);

/// Caller of the ioctls of /dev/autofs, which control autofs mounts. The ioctls need CAP_SYS_ADMIN.
class AutofsControl {
public:
    /// Opens /dev/autofs. Throws Error if the device doesn't exist.
    [[nodiscard]] static UniqueFd open();
    /// `device` is a descriptor of /dev/autofs, which the caller keeps open.
    explicit AutofsControl(int device) noexcept : device_(device) {}

    /// Sets the expiry timeout. In all functions of this class, `root` is the root directory of an autofs, opened for
    /// reading. All functions throw Error.
    void setTimeout(int root, std::uint64_t seconds) const;
    /// Stops all later requests to the daemon.
    void makeCatatonic(int root) const;
    /// Makes the caller's process group the new daemon of a catatonic autofs. `pipe` is the write end of the new pipe.
    void setPipe(int root, int pipe) const;

private:
    int device_;
};

}  // namespace criu::kernel
