// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <span>

#include "criu/base/unique_fd.hpp"

/// Functions that send messages with descriptors between processes, over a pair of Unix sockets that preserves message
/// boundaries (unix(7), SCM_RIGHTS).
namespace criu::kernel {

/// Sends bytes, and the descriptor `fd` unless it is -1. Throws Error.
void sendMessage(int socket, std::span<const std::byte> bytes, int fd);

struct ReceivedMessage {
    std::size_t size = 0;  ///< size in bytes; 0 without waiting for a message, or if the other end is closed
    UniqueFd fd;           ///< invalid if the message had no descriptor
    /// True if the message had a descriptor that the kernel dropped, because this process has too many open files.
    bool lost = false;
};

/// Receives the next message. A received descriptor is close-on-exec. Throws Error.
[[nodiscard]] ReceivedMessage receiveMessage(int socket, std::span<std::byte> bytes);
/// Receives the next message if the socket has one, and never waits.
[[nodiscard]] ReceivedMessage takeMessage(int socket, std::span<std::byte> bytes);
/// Receives a copy of the next message. The message itself stays in the queue.
[[nodiscard]] ReceivedMessage peekMessage(int socket, std::span<std::byte> bytes);

}  // namespace criu::kernel
