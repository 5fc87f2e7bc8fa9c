// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>

#include "criu/base/names.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu {
class Log;
}

namespace criu::service {

/// Default path of the service's socket, relative to the work directory.
inline constexpr const char* kDefaultAddress = "criu_service.socket";

/// Returns the socket that systemd passed (sd_listen_fds(3): descriptor 3, and the variables LISTEN_PID and
/// LISTEN_FDS); nullopt if there is none. Throws Error if systemd passed something else than one listening Unix socket
/// of type SOCK_SEQPACKET.
[[nodiscard]] std::optional<UniqueFd> takePassedSocket();

/// Creates a socket with this path, and listens. The socket has mode 0600, so only the effective user (and root) can
/// connect. Replaces an unused socket of an earlier service. Throws Error if a service listens at the path, or if the
/// path isn't a socket.
[[nodiscard]] UniqueFd listenAt(const std::string& path);

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

}  // namespace criu::service
