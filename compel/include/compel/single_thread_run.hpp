// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/process.hpp>
#include <compel/registers.hpp>
#include <compel/tracee.hpp>

#include <chrono>
#include <functional>

namespace compel {

/// Looks on while a thread that is let run alone makes system calls. Both functions are called while the thread is
/// stopped, in the thread that serves the run; they may look at its registers and change them.
class SystemCallWatch {
public:
    virtual ~SystemCallWatch() = default;
    /// A system call is about to be entered, with the arguments that the registers have now.
    virtual void enter(Tracee& thread) = 0;
    /// One is about to return. False if no more of them are of interest: the thread runs faster then.
    [[nodiscard]] virtual bool leave(Tracee& thread) = 0;
};

/// Has a thread that is stopped at the exit of a system call make another one before it goes on: RemoteSyscalls with
/// the rules of these. The thread's seccomp filters don't see it. Afterwards the thread is stopped where it was (no
/// longer in a Syscall stop), also if this fails. Returns a raw result: a value, or -errno. Throws Error if the call
/// couldn't be made: ETIMEDOUT if it took longer than SeizeOptions::longestWait, EPERM if the thread has filters that
/// this process may not suspend, TraceeGone if the thread died.
std::int64_t insertCall(Tracee& thread, std::int64_t number, const SyscallArguments& arguments);

/// Lets one thread of a frozen process run while all its other threads stay stopped: for drivers that have a helper
/// thread in the processes they serve, and can do nothing for a process unless that thread runs.
///
/// While it runs the thread handles no signals but those it causes itself (a fault); others wait in their queues, where
/// they were before. Its seccomp filters hold even if FreezeOptions suspended them. Signal mask and ptrace options are
/// put back when it is stopped again, by stop() or by destruction. Where it is stopped then is the thread's own doing:
/// its registers are other ones.
///
/// Threads that it creates run, too, and are stopped with it: afterwards they are among FrozenProcess::threads(), whose
/// elements may have moved. If the process was stopped by a signal it still is, after it is detached.
///
/// Everything must be called from the thread that froze the process.
class SingleThreadRun {
public:
    /// Throws Error if `tid` is none of the process' stopped threads. `patience`: how long stopping may take. `watch`:
    /// sees the thread's system calls, though not those of threads that it creates; may be null, else outlives this.
    SingleThreadRun(FrozenProcess& process, pid_t tid, std::chrono::milliseconds patience = FreezeOptions().patience,
                    SystemCallWatch* watch = nullptr);
    /// Stops the thread if stop() hasn't. One that can't be stopped in time, or has ended, is left as it is.
    ~SingleThreadRun();
    SingleThreadRun(const SingleThreadRun&) = delete;
    SingleThreadRun& operator=(const SingleThreadRun&) = delete;

    /// Returns when `done`, which is called again and again in the calling thread, says true; the thread still runs
    /// then. What `done` throws ends the wait and is thrown on. Throws TraceeGone if the thread ends first, and Error
    /// (ETIMEDOUT) if `limit` passes.
    void await(const std::function<bool()>& done, std::chrono::milliseconds limit);

    /// Deals with what the thread has been stopped by, if that happens within `limit`: a thread that is watched, or
    /// that gets a signal, waits for this or for await(). Throws TraceeGone if the thread has ended.
    void serve(std::chrono::nanoseconds limit);

    /// Stops the thread and puts back what was changed. Throws TraceeGone if the thread or its process has ended, Error
    /// (ETIMEDOUT) if it doesn't stop: then its signal mask can't be put back.
    void stop();

private:
    [[nodiscard]] Tracee* find() const noexcept;
    [[nodiscard]] Tracee& thread() const;
    void dealWithStop();
    void dealWithCall();
    void resume(int signal = 0);
    void leaveCall();

    FrozenProcess& process_;
    pid_t tid_;
    FreezeOptions options_;
    SignalMask mask_ = 0;     ///< from before
    SignalMask blocked_ = 0;  ///< while it runs
    SystemCallWatch* watch_;  ///< null once it has seen enough
    bool running_ = false;
};

}  // namespace compel
