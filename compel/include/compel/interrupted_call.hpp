// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/registers.hpp>
#include <compel/tracee.hpp>

#include <cstdint>
#include <optional>

namespace compel {

/// Returns whether a system call has ended with EINTR without a signal handler, and can be made again without an effect
/// lost. The kernel ends some calls like this whenever their thread is stopped (signal(7), "Interruption of system
/// calls and library functions by stop signals").
[[nodiscard]] bool endedByInterruption(const Registers& registers) noexcept;

/// Makes the kernel repeat such a call when the thread is resumed. If the thread handles a signal first, the call
/// returns EINTR. Does nothing for other calls. Must be called at a stop of kind Interrupted or GroupStop, before any
/// other operation on the thread.
void restartInterruptedCall(Tracee& tracee);

/// Returns the number of the system call that a thread continues by restart_syscall(2). The kernel uses that call for a
/// thread that was interrupted twice in one futex(2), poll(2), nanosleep(2) or clock_nanosleep(2). The registers hold
/// the arguments. Returns nothing for other threads, for 32-bit code, or if /proc/PID/wchan doesn't show where the
/// thread sleeps.
///
/// The thread runs inside that call for a moment and is stopped in it again (Interrupted or GroupStop). It executes no
/// code of its own. The call may end during that time.
[[nodiscard]] std::optional<std::int64_t> findRestartedCall(Tracee& tracee);

}  // namespace compel
