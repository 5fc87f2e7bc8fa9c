// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/base/unique_fd.hpp"

/// Functions for POSIX message queues (mq_overview(7)).
namespace criu::kernel {

/// State of a queue that criu can read without receiving messages.
struct PosixQueueState {
    long maxMessages = 0;     ///< capacity of the queue in messages
    long messageSize = 0;     ///< maximal size of one message in bytes
    long waiting = 0;         ///< number of messages in the queue
    std::uint64_t bytes = 0;  ///< sum of the sizes of all messages in the queue, in bytes
    bool notifies = false;    ///< true if a process is registered for notification of the next message (mq_notify(3))
};

/// Mounts the queues of the calling thread's IPC namespace, without attaching the mount. Returns an invalid descriptor
/// if the kernel lacks POSIX queues. Throws Error.
[[nodiscard]] UniqueFd mountPosixQueues();

/// Returns true if a descriptor refers to a queue. An O_PATH descriptor suffices.
[[nodiscard]] bool isPosixQueue(int fd) noexcept;

/// Reads the state of a queue by a readable descriptor. Throws Error.
[[nodiscard]] PosixQueueState readPosixQueueState(int queue);

}  // namespace criu::kernel
