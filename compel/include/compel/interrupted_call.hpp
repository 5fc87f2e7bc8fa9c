// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/registers.hpp>
#include <compel/tracee.hpp>

#include <cstdint>
#include <optional>

namespace compel {

/// Whether a system call has ended with EINTR, though no signal handler may have run, and can be made again. The kernel
/// ends some calls so whenever their thread is stopped (signal(7), "Interruption of system calls and library functions
/// by stop signals"); they have had no effect then.
[[nodiscard]] bool endedByInterruption(const Registers& registers) noexcept;

/// Lets the kernel make such a call again when the thread goes on. If the thread handles a signal first, the call
/// returns EINTR. Does nothing for other calls. To be called at a stop of kind Interrupted or GroupStop, before
/// anything else is done in the thread.
void restartInterruptedCall(Tracee& tracee);

/// The number of the system call that a thread goes on with by restart_syscall(2), which the kernel calls for a thread
/// that was interrupted twice in the same sleep: futex(2), poll(2), nanosleep(2) or clock_nanosleep(2). Its arguments
/// are in the registers. Nothing for other threads, for 32-bit code, or if the kernel doesn't say where a thread sleeps
/// (/proc/PID/wchan).
///
/// The thread goes on with that call for a moment, and is stopped in it again, in an Interrupted or GroupStop stop. It
/// executes none of its own code. The call may have ended by then.
[[nodiscard]] std::optional<std::int64_t> findRestartedCall(Tracee& tracee);

}  // namespace compel
