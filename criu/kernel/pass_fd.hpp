// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <span>

#include "criu/base/unique_fd.hpp"

/// Messages with descriptors between processes, over a pair of Unix sockets that preserves message boundaries
/// (unix(7), SCM_RIGHTS).
namespace criu::kernel {

/// Sends bytes, and a descriptor unless `fd` is -1. Throws Error.
void sendMessage(int socket, std::span<const std::byte> bytes, int fd);

struct ReceivedMessage {
    std::size_t size = 0;  ///< 0: the queue is empty (O_NONBLOCK socket), or the other end is closed
    UniqueFd fd;           ///< invalid if the message had no descriptor
    bool lost = false;     ///< the message had a descriptor, but too many files were open to receive it
};

/// Receives the next message; its descriptor is close-on-exec. Throws Error.
[[nodiscard]] ReceivedMessage receiveMessage(int socket, std::span<std::byte> bytes);
/// Receives a copy of the next message, which stays in the queue.
[[nodiscard]] ReceivedMessage peekMessage(int socket, std::span<std::byte> bytes);

}  // namespace criu::kernel
