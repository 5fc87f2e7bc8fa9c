// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/files/file_kind.fwd.hpp"
#include "images/io-uring.fwd.hpp"

namespace criu::files {
class RestoredFile;
class RingOwners;
}  // namespace criu::files

namespace criu::files {

/// io_uring(7): rings without requests in flight. Images contain unread completions, unsubmitted requests, registered
/// files and buffers, and an eventfd. `owners` must outlive the result. See Documentation/io_uring.md.
std::unique_ptr<FileKindDump> makeIoUringDump(const RingOwners& owners);
std::unique_ptr<FileKindRestore> makeIoUringRestore();

/// Creates the object that restores a ring. `entry` must outlive the object.
std::shared_ptr<RestoredFile> makeRestoredIoUring(const IoUringEntry& entry);

/// Maximum value of a restored ring's request counter. A restore submits that many empty requests, about ten million a
/// second.
inline constexpr std::uint32_t kMostIoUringRequests = 1U << 28;

/// Maximum value of the request counter of a ring with a kernel thread, divided by the number of its completions. A
/// restore lets the thread take that many requests at once, and then waits for it, about 10,000 times a second.
inline constexpr std::uint32_t kMostThreadRounds = 1U << 19;

}  // namespace criu::files
