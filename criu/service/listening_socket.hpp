// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>

#include "criu/base/unique_fd.hpp"

namespace criu::service {

/// Default path of the service's socket, relative to the work directory.
inline constexpr const char* kDefaultAddress = "criu_service.socket";

/// Returns the socket that systemd passed (sd_listen_fds(3): descriptor 3, and the variables LISTEN_PID and
/// LISTEN_FDS); nullopt if there is none. Throws Error if systemd passed something else than one listening Unix socket
/// of type SOCK_SEQPACKET.
[[nodiscard]] std::optional<UniqueFd> takePassedSocket();

}  // namespace criu::service
