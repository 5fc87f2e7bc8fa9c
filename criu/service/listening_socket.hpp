// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>

#include "criu/base/unique_fd.hpp"

namespace criu::service {

/// Where clients find the service unless it is told otherwise: in the work directory.
inline constexpr const char* kDefaultAddress = "criu_service.socket";

/// The socket that systemd has opened for the service (sd_listen_fds(3): descriptor 3, with LISTEN_PID and LISTEN_FDS
/// in the environment). Nothing if it has opened none. Throws Error if it is no listening Unix socket of type
/// SOCK_SEQPACKET, or one of several.
[[nodiscard]] std::optional<UniqueFd> takePassedSocket();

/// Makes a socket with this path and listens there. Only its owner, the effective user, may connect (mode 0600), from
/// the first moment on. A socket that an earlier service has left is replaced; one that somebody answers at, or
/// something else that has the name, isn't. Throws Error.
[[nodiscard]] UniqueFd listenAt(const std::string& path);

}  // namespace criu::service
