// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>

#include "criu/base/journal.hpp"

namespace criu::engine {

/// Time until which `criu rescue` waits for threads that may make a system call of a killed criu.
using RescueDeadline = std::chrono::steady_clock::time_point;

/// Returns the deadline of a `criu rescue` that begins now.
[[nodiscard]] inline RescueDeadline rescueDeadline() {
    constexpr std::chrono::seconds kPatience{2};
    return std::chrono::steady_clock::now() + kPatience;
}

/// Searches the process of a line "injects" (pie::recordInjection()) for a blob that a killed dump has left there, and
/// unmaps it with its data. Stops the process for this. Returns false if the process has ended or contains no blob, and
/// if it still executes code of criu at `end`, because it is stopped. Throws Error if the process can't be frozen, or
/// if it executes code of criu long after `end`.
bool unmapInjection(const JournalLine& line, RescueDeadline end);

/// Unmaps the restorer that a killed restore has left in a process of its tree. `start`, `size`: of its memory, which
/// begins with the blob. Stops the process for this. Returns false as unmapInjection(). Throws Error.
bool unmapRestorer(pid_t pid, std::uint64_t start, std::uint64_t size, RescueDeadline end);

}  // namespace criu::engine
