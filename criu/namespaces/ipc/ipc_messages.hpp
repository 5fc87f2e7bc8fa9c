// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "criu/base/stop_request.hpp"
#include "criu/image/image_dir.hpp"
#include "images/ipc-desc.hpp"

/// System V message queues (msgget(2)) of the calling thread's IPC namespace.
namespace criu::namespaces {

struct QueuedMessage {
    std::int64_t type = 0;
    std::vector<std::byte> text;
    friend bool operator==(const QueuedMessage&, const QueuedMessage&) = default;
};

struct MessageQueue {
    IpcDescEntry desc;
    std::uint32_t limit = 0;  ///< maximum bytes in the queue (msg_qbytes)
    std::vector<QueuedMessage> messages;

    [[nodiscard]] std::uint64_t bytes() const noexcept;
};

/// Reads all queues without changing them. Throws Error if a stop is requested, or for a message larger than msgmax,
/// because the kernel doesn't copy such a message.
[[nodiscard]] std::vector<MessageQueue> readMessageQueues(StopRequest& stop);

void writeMessageQueues(ImageWriter& image, const std::vector<MessageQueue>& queues);

/// Reads an image, and throws Error if its content is invalid.
[[nodiscard]] std::vector<MessageQueue> parseMessageQueues(ImageReader& image);

/// Creates a queue with its messages. Raises msgmax and msgmnb of the namespace if necessary. Throws Error.
void makeMessageQueue(const MessageQueue& queue);

}  // namespace criu::namespaces
