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

/// Default path of the service's socket, in the work directory.
inline constexpr const char* kDefaultAddress = "criu_service.socket";

/// Returns the socket of systemd (sd_listen_fds(3): descriptor 3, with LISTEN_PID and LISTEN_FDS in the
/// environment), or nothing. Throws Error if it isn't a single listening Unix socket of type SOCK_SEQPACKET.
[[nodiscard]] std::optional<UniqueFd> takePassedSocket();

/// Creates a socket with this path and listens. Only its owner, the effective user, can ever connect (mode 0600).
/// Replaces an unused socket of an earlier service. Throws Error, also if a service answers at the path or if it
/// isn't a socket.
[[nodiscard]] UniqueFd listenAt(const std::string& path);

/// Name of the socket that listenAt() has made.
class SocketName {
public:
    /// `path` is that of listenAt().
    explicit SocketName(std::string path);

    /// Removes the name unless another socket has it.
    void remove(Log& log) const noexcept;

private:
    const std::string path_;
    Inode inode_;
};

}  // namespace criu::service
