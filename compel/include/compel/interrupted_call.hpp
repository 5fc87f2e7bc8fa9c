// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/registers.hpp>
#include <compel/remote_syscalls.hpp>
#include <compel/tracee.hpp>

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace compel {

/// Returns the system call in which a thread sleeps, by /proc/PID/syscall. Returns nothing if the thread doesn't sleep
/// in a call, or if criu can't read the file.
[[nodiscard]] std::optional<SleepingCall> sleepingCall(pid_t tid);

/// Returns true if a stop of the thread has ended its system call with EINTR, and the thread can safely repeat the
/// call. The kernel ends some calls in this way, although no signal handler runs (signal(7), "Interruption of system
/// calls and library functions by stop signals").
[[nodiscard]] bool endedByInterruption(const Registers& registers) noexcept;

/// Makes the kernel repeat a call for which endedByInterruption() returns true. The kernel repeats it when the thread
/// is resumed; if the thread first handles a signal, the call returns EINTR. Does nothing for other calls. Call it at a
/// stop of kind Interrupted or GroupStop, before any other operation on the thread.
///
/// `before`: system call in which the thread slept between its seizure and the request for the stop. Only processors
/// whose stops don't show the call need it (Registers::showsEndedCall). For these, the function rewinds the thread to
/// the system call instruction, and calls Tracee::setRewoundCall().
void restartInterruptedCall(Tracee& tracee, const std::optional<SleepingCall>& before);

/// For a thread of a stopped process: finds out whether its interrupted system call must fail with EINTR when the
/// process continues, and calls setCallEndsWithTracer(). The call fails if the thread first handles a signal without
/// SA_RESTART, or any signal in some calls. Such a signal is pending now, or is SIGCONT.
///
/// Knows the signals of the process only if it has one thread, because any thread may handle them. Makes a system call
/// in the thread if SA_RESTART decides: the tracer's death during this call makes the interrupted one start again.
/// `instruction`: of the process; without a restorer, no such call is made. Throws Error.
void foreseeInterruption(Tracee& tracee, const std::optional<SyscallInstruction>& instruction);

/// Returns the number of the system call that a thread continues by restart_syscall(2). This happens to a thread that
/// was interrupted twice in one futex(2), poll(2), nanosleep(2) or clock_nanosleep(2). The thread's registers contain
/// the arguments of the original call. Returns nothing for other threads, for 32-bit code, or if /proc/PID/wchan
/// doesn't show where the thread sleeps.
///
/// The function lets the thread run inside the call for a moment, and stops it again (Interrupted or GroupStop). The
/// thread executes no user code, but the call may end during this time.
[[nodiscard]] std::optional<std::int64_t> findRestartedCall(Tracee& tracee);

}  // namespace compel
