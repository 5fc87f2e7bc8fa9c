// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "criu/base/unique_fd.hpp"

/// File systems in which a daemon mounts things when somebody comes to look (autofs). The kernel writes to a pipe what
/// is wanted, and the process that wants it waits for the daemon's answer.
namespace criu::kernel {

enum class AutofsType : std::uint8_t {
    Direct,    ///< the root is what something is mounted on
    Indirect,  ///< directories below the root are
    Offset,    ///< as Direct, in a directory of another autofs
};

/// What mountinfo shows of one.
struct AutofsOptions {
    int pipe = -1;  ///< the number that the pipe's descriptor had; -1: nobody is asked any more ("catatonic")
    /// The process group of the daemon, for which the kernel makes nothing happen.
    pid_t group = 0;
    std::uint64_t timeout = 0;  ///< after which an unused mount is to go, in seconds
    int minProtocol = 0;
    int maxProtocol = 0;
    AutofsType type{};
    std::optional<uid_t> user;  ///< of the root directory, if it isn't 0
    std::optional<gid_t> owningGroup;
    bool strictExpire = false;
    bool ignored = false;  ///< programs that list mounts are asked to leave it out
    /// None: it is catatonic, or the kernel doesn't tell (without CONFIG_CHECKPOINT_RESTORE).
    std::optional<std::uint64_t> pipeInode;
};

/// Of the file system's own options, separated by commas. Throws Error for those that aren't known.
[[nodiscard]] AutofsOptions parseAutofsOptions(std::string_view text);

/// /dev/autofs, by which the kernel takes orders for mounts. They need CAP_SYS_ADMIN.
class AutofsControl {
public:
    /// Throws Error if there is no such device.
    [[nodiscard]] static UniqueFd open();
    /// `device`: a descriptor of that device. It stays the caller's.
    explicit AutofsControl(int device) noexcept : device_(device) {}

    /// `root`: the root directory of an autofs, opened for reading. All throw Error.
    void setTimeout(int root, std::uint64_t seconds) const;
    /// Nobody is asked from now on.
    void makeCatatonic(int root) const;
    /// Of a catatonic one: it is the process group of the caller that is asked by a pipe, of which `pipe` is the end to
    /// write to.
    void setPipe(int root, int pipe) const;

private:
    int device_;
};

}  // namespace criu::kernel
