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

/// InventoryEntry.extensions: images contain POSIX message queues.
inline constexpr const char* kPosixQueues = "posix-queues";

struct PosixMessage {
    std::uint32_t priority = 0;
    std::vector<std::byte> text;
    friend bool operator==(const PosixMessage&, const PosixMessage&) = default;
};

struct PosixQueue {
    std::string name;  ///< without the leading slash of mq_open(3)
    bool deleted = false;
    std::uint32_t mode = 0;
    std::uint32_t user = 0;
    std::uint32_t group = 0;
    std::uint64_t maxMessages = 0;
    std::uint64_t messageSize = 0;  ///< largest size of a message in bytes
    std::vector<PosixMessage> messages;
    friend bool operator==(const PosixQueue&, const PosixQueue&) = default;
};

/// Returns the messages of a queue in the order in which they are received. The kernel shows a message only by removing
/// it, so all are taken out and put back. The order within each priority stays the same. Steps that can fail come
/// before the first message is taken, and nothing interrupts the calling thread. No other process may use the queue at
/// that time or wait for a notification. `queue`: opened O_RDWR | O_NONBLOCK. Throws Error.
[[nodiscard]] std::vector<PosixMessage> copyPosixMessages(int queue);

void writePosixQueues(ImageWriter& image, const std::vector<PosixQueue>& queues, const model::IdMap& owners);

/// Reads and checks an image. `owners`: translates owners to uids and gids outside of the tree's user namespace.
[[nodiscard]] std::vector<PosixQueue> parsePosixQueues(ImageReader& image, const model::IdMap& owners);

/// Creates queues with their messages in the calling thread's IPC namespace. Raises the namespace's limits as needed.
/// `owners`: of the namespace's user namespace. Throws Error.
void makePosixQueues(const std::vector<PosixQueue>& queues, const model::IdMap& owners);

/// Removes the names of queues that were deleted in the tree. Call it when all processes have opened them. Throws
/// Error.
void removeDeletedQueues(const std::vector<PosixQueue>& queues);

}  // namespace criu::namespaces
