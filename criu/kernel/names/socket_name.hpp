// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "criu/base/names.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu {

class Log;

/// Creates a Unix socket of type SOCK_SEQPACKET with this path, and listens. The socket has mode 0600, so only the
/// effective user (and root) can connect. Replaces an unused socket of an earlier process. Throws Error if a process
/// listens at the path, or if the path isn't a socket.
[[nodiscard]] UniqueFd listenAt(const std::string& path);

/// Connects to a socket of listenAt(). Throws Error, also if the queue of the listening process is full.
[[nodiscard]] UniqueFd connectTo(const std::string& path);

/// Name of a socket that listenAt() has created.
class SocketName {
public:
    /// `path` is the argument of listenAt().
    explicit SocketName(std::string path);

    /// Removes the name if it still refers to the same socket. Logs a failure.
    void remove(Log& log) const noexcept;

private:
    const std::string path_;
    Inode inode_;
};

}  // namespace criu
