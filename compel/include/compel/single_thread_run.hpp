// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/process.hpp>
#include <compel/registers.hpp>
#include <compel/tracee.hpp>

#include <chrono>
#include <functional>

namespace compel {

/// Observer of the system calls of a thread that runs alone. The thread that serves the run calls both functions while
/// the observed thread is stopped. They may read and change its registers.
class SystemCallWatch {
public:
    virtual ~SystemCallWatch() = default;
    /// Called before a system call is entered. The registers hold its arguments.
    virtual void enter(Tracee& thread) = 0;
    /// Called before a system call returns. Returns false if the observer needs no more calls: the thread then runs
    /// faster.
    [[nodiscard]] virtual bool leave(Tracee& thread) = 0;
};

/// Makes one more system call in a thread that is stopped at the exit of a system call. The rules of RemoteSyscalls
/// apply. The thread's seccomp filters don't apply. Afterwards the thread is stopped at the same address, but no longer
/// in a Syscall stop, even after a failure. Returns a raw result: a value, or -errno. Throws Error if the call couldn't
/// be made: ETIMEDOUT after SeizeOptions::longestWait, EPERM if this process may not suspend the thread's filters,
/// TraceeGone if the thread died.
std::int64_t insertCall(Tracee& thread, std::int64_t number, const SyscallArguments& arguments);

/// Runs one thread of a frozen process while all its other threads stay stopped. For drivers with a helper thread in
/// each process: they can't work on a process unless that thread runs.
///
/// The running thread handles only signals of its own faults; others stay queued. Its seccomp filters apply even if
/// FreezeOptions suspended them. stop() or the destructor stops the thread and restores signal mask and ptrace options.
/// The thread's registers differ afterwards, because it has executed code.
///
/// Threads that it creates run, too, and are stopped with it. Afterwards they are in FrozenProcess::threads(), whose
/// elements may have moved. A process in group-stop is still in group-stop after it is detached.
///
/// All functions must be called by the thread that froze the process.
class SingleThreadRun {
public:
    /// Starts the thread. Throws Error if `tid` is none of the process' stopped threads. `patience` is the timeout for
    /// stopping. `watch` observes the thread's system calls, but not those of threads that it creates. It may be null
    /// and must outlive this object.
    SingleThreadRun(FrozenProcess& process, pid_t tid, std::chrono::milliseconds patience = FreezeOptions().patience,
                    SystemCallWatch* watch = nullptr);
    /// Stops the thread if stop() hasn't. Leaves a thread alone that has ended or can't be stopped in time.
    ~SingleThreadRun();
    SingleThreadRun(const SingleThreadRun&) = delete;
    SingleThreadRun& operator=(const SingleThreadRun&) = delete;

    /// Calls `done` repeatedly in the calling thread and returns when it returns true. The thread still runs then. An
    /// exception of `done` ends the wait and is passed on. Throws TraceeGone if the thread ends first, and Error
    /// (ETIMEDOUT) after `limit`.
    void await(const std::function<bool()>& done, std::chrono::milliseconds limit);

    /// Handles a stop of the thread if one occurs within `limit`. A thread that is observed or gets a signal waits for
    /// this function or for await(). Throws TraceeGone if the thread has ended.
    void serve(std::chrono::nanoseconds limit);

    /// Stops the thread and restores its signal mask and ptrace options. Throws TraceeGone if the thread or its process
    /// has ended. Throws Error (ETIMEDOUT) if the thread doesn't stop: then its signal mask stays changed.
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
    SignalMask mask_ = 0;     ///< before the run
    SignalMask blocked_ = 0;  ///< during the run
    SystemCallWatch* watch_;  ///< null once leave() has returned false
    bool running_ = false;
};

}  // namespace compel
