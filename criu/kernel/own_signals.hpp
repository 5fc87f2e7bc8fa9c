// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

/// Signals of the calling process, by the kernel's calls. Those of libc never touch the two signals that it uses for
/// its threads (32 and 33), and give actions a restorer of its own; what is restored has neither.
namespace criu::engine {

constexpr std::uint64_t maskOf(int signal) {
    return std::uint64_t{1} << (signal - 1);
}

/// Blocks exactly these. Throws Error.
void blockSignals(std::uint64_t mask);

/// Gives all signals their default action.
void resetSignalActions() noexcept;

/// Ends the process with a wait(2) status; by a signal without a core dump.
[[noreturn]] void exitWithStatus(int status);

}  // namespace criu::engine
