// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/base/unique_fd.hpp"

/// POSIX message queues (mq_overview(7)).
namespace criu::kernel {

/// What is known of a queue without taking anything out of it.
struct PosixQueueState {
    long maxMessages = 0;     ///< how many fit
    long messageSize = 0;     ///< bytes that one may have at most
    long waiting = 0;         ///< messages in the queue
    std::uint64_t bytes = 0;  ///< of all these together
    bool notifies = false;    ///< somebody is to be notified of the next message (mq_notify(3))
};

/// The file system with the queues of the calling thread's IPC namespace, mounted nowhere. Empty if the kernel has no
/// such queues. Throws Error.
[[nodiscard]] UniqueFd mountPosixQueues();

/// Whether a descriptor, maybe an O_PATH one, is of a queue.
[[nodiscard]] bool isPosixQueue(int fd) noexcept;

/// Of a descriptor that may be read. Throws Error.
[[nodiscard]] PosixQueueState readPosixQueueState(int queue);

}  // namespace criu::kernel
