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

/// io_uring(7): rings that have no requests in flight, with completions that nobody has taken yet, requests that aren't
/// submitted yet, registered files and buffers, and an eventfd. `owners` outlives the result. See
/// Documentation/io_uring.md.
std::unique_ptr<FileKindDump> makeIoUringDump(const RingOwners& owners);
std::unique_ptr<FileKindRestore> makeIoUringRestore();

/// What restores one: made by the kind. `entry` must outlive it.
std::shared_ptr<RestoredFile> makeRestoredIoUring(const IoUringEntry& entry);

/// A ring's counters are reached by as many requests that do nothing, some ten millions a second.
inline constexpr std::uint32_t kMostIoUringRequests = 1U << 28;

}  // namespace criu::files
