// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

/// Functions that set signals of the calling process by direct system calls. libc's functions don't suffice: they can't
/// change signals 32 and 33, because libc's threads use them, and they add a restorer to each action. Restored tasks
/// must not have the actions or the restorer of libc.
namespace criu::engine {

constexpr std::uint64_t maskOf(int signal) {
    return std::uint64_t{1} << (signal - 1);
}

/// Sets the signal mask of the calling thread to `mask`. Throws Error.
void blockSignals(std::uint64_t mask);

/// Gives all signals their default action.
void resetSignalActions() noexcept;

/// Ends the process with a given status of waitpid(2). If the status names a signal, the process dies of this signal
/// without a core dump.
[[noreturn]] void exitWithStatus(int status);

}  // namespace criu::engine
