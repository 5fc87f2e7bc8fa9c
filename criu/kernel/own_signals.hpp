// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

/// Signals of the calling process by direct system calls. libc's functions never touch signals 32 and 33, which its
/// threads use, and add a restorer to actions. Restored tasks must have neither effect.
namespace criu::engine {

constexpr std::uint64_t maskOf(int signal) {
    return std::uint64_t{1} << (signal - 1);
}

/// Blocks exactly the signals of `mask`. Throws Error.
void blockSignals(std::uint64_t mask);

/// Gives all signals their default action.
void resetSignalActions() noexcept;

/// Ends the process with a wait(2) status. If a signal caused it, no core dump is written.
[[noreturn]] void exitWithStatus(int status);

}  // namespace criu::engine
