// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/base/unique_fd.hpp"

/// POSIX message queues (mq_overview(7)).
namespace criu::kernel {

/// State of a queue that is readable without receiving messages.
struct PosixQueueState {
    long maxMessages = 0;     ///< capacity in messages
    long messageSize = 0;     ///< maximal bytes of one message
    long waiting = 0;         ///< messages in the queue
    std::uint64_t bytes = 0;  ///< bytes of all messages in the queue
    bool notifies = false;    ///< a process is registered for notification of the next message (mq_notify(3))
};

/// Mounts the queues of the calling thread's IPC namespace, detached. Returns an invalid descriptor if the kernel
/// lacks POSIX queues. Throws Error.
[[nodiscard]] UniqueFd mountPosixQueues();

/// Returns true if a descriptor, possibly an O_PATH one, refers to a queue.
[[nodiscard]] bool isPosixQueue(int fd) noexcept;

/// Reads the state by a readable descriptor. Throws Error.
[[nodiscard]] PosixQueueState readPosixQueueState(int queue);

}  // namespace criu::kernel
