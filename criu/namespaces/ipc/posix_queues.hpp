// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "criu/image/image_dir.hpp"

namespace criu::model {
class IdMap;
}

/// POSIX message queues (mq_overview(7)) of an IPC namespace.
namespace criu::namespaces {

/// Extension name in the inventory (InventoryEntry.extensions) for images with POSIX message queues.
inline constexpr const char* kPosixQueues = "posix-queues";

struct PosixMessage {
    std::uint32_t priority = 0;
    std::vector<std::byte> text;
    friend bool operator==(const PosixMessage&, const PosixMessage&) = default;
};

struct PosixQueue {
    std::string name;  ///< name without the leading slash of mq_open(3)
    bool deleted = false;
    std::uint32_t mode = 0;
    std::uint32_t user = 0;
    std::uint32_t group = 0;
    std::uint64_t maxMessages = 0;
    std::uint64_t messageSize = 0;  ///< maximum size of a message in bytes
    std::vector<PosixMessage> messages;
    friend bool operator==(const PosixQueue&, const PosixQueue&) = default;
};

/// Returns the messages of a queue in the order in which the kernel delivers them. The kernel shows a message only by
/// removing it. So criu receives all messages and sends them again; the order within each priority stays the same. All
/// steps that can fail precede the first mq_receive(3). During the call, no other process may use the queue or wait for
/// a notification. `queue`: descriptor opened with O_RDWR | O_NONBLOCK. Throws Error.
[[nodiscard]] std::vector<PosixMessage> copyPosixMessages(int queue);

void writePosixQueues(ImageWriter& image, const std::vector<PosixQueue>& queues, const model::IdMap& owners);

/// Reads an image, and throws Error if its content is invalid. `owners` translates owners to uids and gids of criu's
/// user namespace.
[[nodiscard]] std::vector<PosixQueue> parsePosixQueues(ImageReader& image, const model::IdMap& owners);

/// Creates queues with their messages in the calling thread's IPC namespace. Raises limits of the namespace if
/// necessary. `owners`: id map of the user namespace that owns the IPC namespace. Throws Error.
void makePosixQueues(const std::vector<PosixQueue>& queues, const model::IdMap& owners);

/// Removes the names of queues that were deleted at the dump. Must follow the opening of these queues by all processes.
/// Throws Error.
void removeDeletedQueues(const std::vector<PosixQueue>& queues);

}  // namespace criu::namespaces
