// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"

/// Descriptors between processes over a pair of Unix datagram sockets: unix(7), SCM_RIGHTS.
namespace criu::kernel {

void sendDescriptor(int socket, int fd);

/// The next one, close-on-exec; invalid if none waits (the socket is O_NONBLOCK).
[[nodiscard]] UniqueFd receiveDescriptor(int socket);

}  // namespace criu::kernel
