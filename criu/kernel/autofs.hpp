// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "criu/base/unique_fd.hpp"

/// Types of autofs: file systems in which a daemon mounts directories on first access. The kernel writes a request to
/// the daemon's pipe. The accessing process waits until the daemon completes the request.
namespace criu::kernel {

enum class AutofsType : std::uint8_t {
    Direct,    ///< the daemon mounts on the root directory
    Indirect,  ///< the daemon mounts on directories below the root
    Offset,    ///< as Direct, in a directory of another autofs
};

/// Options of an autofs, as mountinfo shows them.
struct AutofsOptions {
    int pipe = -1;  ///< descriptor number that the daemon gave for the pipe; -1 if the autofs is catatonic: the
                    ///< kernel sends no requests
    /// Process group of the daemon. The kernel sends no requests for accesses by this group.
    pid_t group = 0;
    std::uint64_t timeout = 0;  ///< seconds after which the daemon expires an unused mount
    int minProtocol = 0;
    int maxProtocol = 0;
    AutofsType type{};
    std::optional<uid_t> user;  ///< uid of the root directory, unless it is 0
    std::optional<gid_t> owningGroup;
    bool strictExpire = false;
    bool ignored = false;  ///< programs that list mounts should skip this one
    /// Inode of the pipe. Unset for a catatonic autofs, or if the kernel lacks CONFIG_CHECKPOINT_RESTORE.
    std::optional<std::uint64_t> pipeInode;
};

/// Parses the file system's options, separated by commas. Throws Error for unknown options.
[[nodiscard]] AutofsOptions parseAutofsOptions(std::string_view text);

/// Access to /dev/autofs, whose ioctls control autofs mounts. They need CAP_SYS_ADMIN.
class AutofsControl {
public:
    /// Opens /dev/autofs. Throws Error if the device doesn't exist.
    [[nodiscard]] static UniqueFd open();
    /// `device`: descriptor of /dev/autofs, borrowed from the caller.
    explicit AutofsControl(int device) noexcept : device_(device) {}

    /// Set the expiry timeout. In this and the next functions, `root` is the root directory of an autofs, opened for
    /// reading. All throw Error.
    void setTimeout(int root, std::uint64_t seconds) const;
    /// Stops all further requests to the daemon.
    void makeCatatonic(int root) const;
    /// Gives a catatonic autofs a new daemon: the caller's process group. `pipe` is the write end of the new pipe.
    void setPipe(int root, int pipe) const;

private:
    int device_;
};

}  // namespace criu::kernel
