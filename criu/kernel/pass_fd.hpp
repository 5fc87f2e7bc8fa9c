// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <span>

#include "criu/base/unique_fd.hpp"

/// Messages with descriptors between processes over a pair of Unix sockets that preserve message boundaries: unix(7),
/// SCM_RIGHTS.
namespace criu::kernel {

/// Sends bytes and, unless it is -1, a descriptor. Throws Error.
void sendMessage(int socket, std::span<const std::byte> bytes, int fd);

struct ReceivedMessage {
    std::size_t size = 0;  ///< 0: none waits (the socket is O_NONBLOCK), or the other end is shut
    UniqueFd fd;           ///< invalid if it has none
    bool lost = false;     ///< it had one, for which there was no room: too many files are open
};

/// Takes the next one; the descriptor is close-on-exec. Throws Error.
[[nodiscard]] ReceivedMessage receiveMessage(int socket, std::span<std::byte> bytes);
/// The same, but the message stays in the queue.
[[nodiscard]] ReceivedMessage peekMessage(int socket, std::span<std::byte> bytes);

}  // namespace criu::kernel
