// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/remote_memory.hpp>
#include <compel/tracee.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace compel {

struct FreezeOptions {
    SeizeOptions seize{};
    /// Timeout for stopping all threads. If a thread doesn't stop in time, freeze() throws Error. An example is a
    /// thread that is blocked in the kernel (state D), such as a parent in vfork(2).
    std::chrono::milliseconds patience{10'000};
    /// Libraries that the processes of a tree have in common, for FrozenProcess::syscallInstruction(); may be null.
    std::shared_ptr<KnownLibraries> libraries{};
};

struct FrozenThread {
    Tracee tracee;
    /// Signal of the group-stop in which freeze() has found the thread; 0 if the thread was running. After detach(),
    /// the thread is in this group-stop again.
    int stopSignal = 0;

    /// System call in which the thread slept before its stop. Nothing if the stop itself shows the call.
    std::optional<SleepingCall> sleeping{};

    [[nodiscard]] bool groupStopped() const noexcept { return stopSignal != 0; }
};

/// Process whose threads are all seized and stopped between two instructions (StopInfo Interrupted or GroupStop).
/// Signals that the kernel was about to deliver are in their queues again. The destructor detaches all threads, so that
/// the process continues unchanged.
///
/// All functions must be called by the thread that called freeze(). A thread that doesn't stop in time can't be
/// detached; the kernel detaches it when the calling thread ends.
class FrozenProcess {
public:
    static FrozenProcess freeze(pid_t pid, FreezeOptions options = {});

    /// Does the first half of freeze(): seizes every thread and requests a stop. For processes in a frozen cgroup,
    /// because their threads stop only when the cgroup is thawed.
    static FrozenProcess seize(pid_t pid, FreezeOptions options = {});
    /// Does the second half of freeze(): waits until all threads have stopped.
    void stop(FreezeOptions options = {});

    FrozenProcess(FrozenProcess&&) noexcept = default;
    FrozenProcess& operator=(FrozenProcess&& other) noexcept;
    FrozenProcess(const FrozenProcess&) = delete;
    FrozenProcess& operator=(const FrozenProcess&) = delete;
    ~FrozenProcess();

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    /// Returns the threads, beginning with the thread-group leader; without the leader if leaderEnded(). The list
    /// doesn't contain kernel worker threads of the process (io_uring, vhost). freeze() doesn't stop these: they
    /// execute no code of the process, and a stop would make their current work fail.
    [[nodiscard]] std::vector<FrozenThread>& threads() noexcept { return threads_; }
    [[nodiscard]] const std::vector<FrozenThread>& threads() const noexcept { return threads_; }
    /// Returns the thread that makes system calls for the process: the thread-group leader, or another thread if
    /// leaderEnded().
    [[nodiscard]] Tracee& leader() noexcept { return threads_[acting_].tracee; }
    [[nodiscard]] const Tracee& leader() const noexcept { return threads_[acting_].tracee; }
    /// Returns true if the main thread has ended while other threads live (pthread_exit(3)). The kernel shows such a
    /// process as a zombie without memory and files: /proc, kcmp(2) and similar calls need the tid of leader().
    [[nodiscard]] bool leaderEnded() const noexcept { return leaderEnded_; }
    /// Detaches only the thread-group leader, which must be about to call exit(2), and waits for its end. Throws Error.
    void releaseEndingLeader();
    [[nodiscard]] const RemoteMemory& memory() const noexcept { return memory_; }

    /// Adds a thread that is traced since its creation: a thread of the process has created it by clone(2) with
    /// CLONE_PTRACE. Waits until the new thread has stopped. Pointers to elements of threads() become invalid. Throws
    /// Error.
    FrozenThread& adopt(pid_t tid);

    /// Returns a system call instruction in the process; nothing if it has none. Caches the result of
    /// findSyscallInstruction().
    [[nodiscard]] std::optional<SyscallInstruction> syscallInstruction();
    /// Returns an instruction by which the process can unmap the memory from `start` to `end`: one with a restorer
    /// outside of it, so that the thread continues if the tracer dies in the call. For a 32-bit process without such an
    /// instruction, returns one without a restorer, because its thread can continue by the vDSO (RemoteSyscalls).
    /// Returns nothing for other processes.
    [[nodiscard]] std::optional<SyscallInstruction> unmappingInstruction(RemoteAddress start, RemoteAddress end);
    /// Calls foreseeInterruption() for a thread of a process that is stopped, or that will be, if the thread was
    /// interrupted in a system call. Ignores an Error, because the call then starts again, as that of a running
    /// process. Throws TraceeGone.
    void foresee(Tracee& thread);
    /// Returns true if the process maps an anonymous inode with this name, such as "anon_inode:[io_uring]". Uses the
    /// same cached content of /proc/PID/maps as syscallInstruction().
    [[nodiscard]] bool maps(std::string_view anonymousInode);

    /// Stops a process by a signal (group-stop), so that it is still stopped after detach(). If the kernel ignores the
    /// signal (SIGTSTP, SIGTTIN and SIGTTOU of an orphaned process group), uses SIGSTOP. The process executes no code
    /// during the call, and other signals stay queued.
    void stopAsGroup(int signal);

    /// Detaches all threads, and the leader as the last one. After a failure, continues with the other threads, then
    /// throws the first failure.
    void detach();
    /// Makes the kernel end the process with SIGKILL if the calling thread ends (PTRACE_O_EXITKILL).
    void dieWithTracer();
    /// Makes the process stop after SIGKILL, before it frees its memory. The caller can then free the memory by several
    /// threads (process_mrelease(2)). The process ends when the caller calls kill() or killFirst(), or destroys this
    /// object.
    void keepMemoryWhenKilled();
    /// After keepMemoryWhenKilled() and a SIGKILL, waits for this stop. Returns false if the process has already ended.
    [[nodiscard]] bool waitKilled();
    /// Sends SIGKILL without waiting, so that several processes can end at the same time. The caller must call kill()
    /// later.
    void beginKill();
    /// Sends SIGKILL and waits until all threads have ended. Afterwards the process is a zombie that its parent can
    /// reap.
    void kill();
    /// Kills the init of a pid namespace. Init ends only when all other processes of the namespace have been reaped; a
    /// parent outside of the namespace may not reap them. So waits at most `patience`, and returns false after that
    /// time. The process then ends later, and stays traced until the calling thread ends.
    [[nodiscard]] bool killFirst(std::chrono::milliseconds patience);
    /// Makes the kernel kill the process when the calling thread ends; the process stays stopped until then. For the
    /// init of the caller's own pid namespace, because processes of this namespace can't kill it.
    void killAtExit();
    /// Returns true if one of these functions has sent SIGKILL, or has made the kernel send it.
    [[nodiscard]] bool killSent() const noexcept { return killSent_; }

private:
    explicit FrozenProcess(pid_t pid) noexcept : pid_(pid), memory_(pid) {}
    enum class Found { All, Perhaps };
    using Deadline = std::chrono::steady_clock::time_point;

    void seizeThread(pid_t tid, const FreezeOptions& options);
    void seizeLeader(const FreezeOptions& options);
    void forgetEnded();
    static FrozenProcess seizeFirst(pid_t pid, const FreezeOptions& options);
    /// Seizes threads of the process that aren't seized yet. Returns the tids of threads that have ended but aren't
    /// reaped.
    std::vector<pid_t> seizeNewThreads(const FreezeOptions& options);
    Found seizeListedThreads(const FreezeOptions& options, Deadline deadline);
    void waitForStops(Deadline deadline);
    void foreseeInterruptions();
    bool takeStopSignal(int signal);
    /// Sends SIGKILL to the process. Returns the threads for whose end the caller must wait.
    std::vector<Tracee*> sendKill();
    void disown() noexcept;
    void release() noexcept;

    pid_t pid_;
    std::size_t counted_ = 0;  ///< number of threads before the first one was seized
    RemoteMemory memory_;
    std::vector<FrozenThread> threads_;
    std::size_t acting_ = 0;  ///< index of the thread that leader() returns
    bool leaderEnded_ = false;
    bool killSent_ = false;
    std::size_t workers_ = 0;  ///< number of kernel worker threads at the last count
    std::optional<std::optional<SyscallInstruction>> syscallInstruction_;
    std::shared_ptr<KnownLibraries> libraries_;  ///< see FreezeOptions
    std::set<std::string, std::less<>>
        anonymousInodes_;  ///< names of mapped anonymous inodes; valid if syscallInstruction_ has a value
};

}  // namespace compel
