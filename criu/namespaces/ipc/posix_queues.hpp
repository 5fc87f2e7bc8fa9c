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

/// The name in an inventory's extensions for images that have such queues.
inline constexpr const char* kPosixQueues = "posix-queues";

struct PosixMessage {
    std::uint32_t priority = 0;
    std::vector<std::byte> text;
    friend bool operator==(const PosixMessage&, const PosixMessage&) = default;
};

struct PosixQueue {
    std::string name;  ///< without the slash that programs write in front of it
    bool deleted = false;
    std::uint32_t mode = 0;
    std::uint32_t user = 0;
    std::uint32_t group = 0;
    std::uint64_t maxMessages = 0;
    std::uint64_t messageSize = 0;  ///< bytes that a message may have at most
    std::vector<PosixMessage> messages;
    friend bool operator==(const PosixQueue&, const PosixQueue&) = default;
};

/// The messages of a queue, in the order in which they are received. The kernel shows messages only to those who take
/// them out, so all are taken and put back in the same order, which restores the order within each priority, too.
/// Whatever could fail is done before the first is taken, and nothing interrupts the calling thread meanwhile. So this
/// is for queues that nobody else uses at the time, and that have nobody to be notified. `queue`: may be read and
/// written, and doesn't wait (O_NONBLOCK). Throws Error.
[[nodiscard]] std::vector<PosixMessage> copyPosixMessages(int queue);

void writePosixQueues(ImageWriter& image, const std::vector<PosixQueue>& queues, const model::IdMap& owners);

/// Reads and checks an image. `owners`: made owners outside of the tree's user namespace.
[[nodiscard]] std::vector<PosixQueue> parsePosixQueues(ImageReader& image, const model::IdMap& owners);

/// Makes queues with all their messages in the calling thread's IPC namespace, whose limits are raised as needed, and
/// stay so. `owners`: of the namespace's user namespace. Throws Error.
void makePosixQueues(const std::vector<PosixQueue>& queues, const model::IdMap& owners);

/// Takes away the names of those that have none in the tree, when all have opened them. Throws Error.
void removeDeletedQueues(const std::vector<PosixQueue>& queues);

}  // namespace criu::namespaces
