// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/process.hpp>
#include <compel/registers.hpp>
#include <compel/tracee.hpp>

#include <chrono>
#include <functional>

namespace compel {

/// Observer of the system calls of the thread in a SingleThreadRun. SingleThreadRun calls the functions while this
/// thread is stopped. They may read and change the thread's registers.
class SystemCallWatch {
public:
    virtual ~SystemCallWatch() = default;
    /// Called when the thread enters a system call. The registers contain the arguments of the call.
    virtual void enter(Tracee& thread) = 0;
    /// Called when a system call returns. Returns false to end the observation; the thread then runs faster.
    [[nodiscard]] virtual bool leave(Tracee& thread) = 0;
};

/// Makes one more system call in a thread that is stopped at the exit of a system call. The rules of RemoteSyscalls
/// apply, but the thread's seccomp filters don't. Returns the result: a value, or -errno. Afterwards, even after a
/// failure, the thread is stopped at the same address, but not in a Syscall stop. Throws Error: ETIMEDOUT after
/// SeizeOptions::longestWait, EPERM if the caller may not suspend the thread's filters, TraceeGone if the thread has
/// ended.
std::int64_t insertCall(Tracee& thread, std::int64_t number, const SyscallArguments& arguments);

/// Runs one thread of a frozen process; all other threads of the process stay stopped. Needed for device drivers that
/// have a helper thread in each process, which does the driver's work for this process.
///
/// The running thread handles only signals of its own faults; other signals stay queued. Its seccomp filters apply,
/// even if FreezeOptions has suspended them. stop() and the destructor stop the thread and restore signal mask and
/// ptrace options. The thread then has other registers than before, because it has executed code.
///
/// Threads that the running thread creates also run, and are stopped with it. They are then in
/// FrozenProcess::threads(), whose elements may have moved. A process in group-stop is still in group-stop after it is
/// detached.
///
/// All functions must be called by the thread that froze the process.
class SingleThreadRun {
public:
    /// Starts the thread `tid`. Throws Error if this isn't a stopped thread of the process. `patience`: timeout for
    /// stopping the thread. `watch`: observes the system calls of this thread only; must outlive this object; may be
    /// null.
    SingleThreadRun(FrozenProcess& process, pid_t tid, std::chrono::milliseconds patience = FreezeOptions().patience,
                    SystemCallWatch* watch = nullptr);
    /// Stops the thread if stop() wasn't called. Ignores a thread that has ended or doesn't stop in time.
    ~SingleThreadRun();
    SingleThreadRun(const SingleThreadRun&) = delete;
    SingleThreadRun& operator=(const SingleThreadRun&) = delete;

    /// Calls `done` repeatedly in the calling thread, until `done` returns true. The thread still runs when await()
    /// returns. Throws the exception of `done`, TraceeGone if the thread ends, and Error (ETIMEDOUT) after `limit`.
    void await(const std::function<bool()>& done, std::chrono::milliseconds limit);

    /// Handles a stop of the thread if one occurs within `limit`. A stopped thread waits until the caller calls this
    /// function or await(); a thread stops at each observed system call and at each signal. Throws TraceeGone if the
    /// thread has ended.
    void serve(std::chrono::nanoseconds limit);

    /// Stops the thread and restores its signal mask and ptrace options. Throws TraceeGone if the thread or its process
    /// has ended. Throws Error (ETIMEDOUT) if the thread doesn't stop; its signal mask is then still changed.
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
    SignalMask mask_ = 0;     ///< signal mask of the thread before the run
    SignalMask blocked_ = 0;  ///< signal mask of the thread during the run
    SystemCallWatch* watch_;  ///< observer; null without one, and after leave() has returned false
    bool running_ = false;
};

}  // namespace compel
