// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/remote_memory.hpp>
#include <compel/tracee.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace compel {

struct FreezeOptions {
    SeizeOptions seize{};
    /// Timeout for stopping all threads. A thread that is stuck in the kernel (state D), such as a parent in vfork(2),
    /// makes freeze() throw Error.
    std::chrono::milliseconds patience{10'000};
};

struct FrozenThread {
    Tracee tracee;
    /// Signal of the group-stop that the thread was found in; 0 if it was running. Detaching keeps the group-stop.
    int stopSignal = 0;

    [[nodiscard]] bool groupStopped() const noexcept { return stopSignal != 0; }
};

/// All threads of a process, seized and stopped between two of their instructions (StopInfo Interrupted or GroupStop).
/// Signals in delivery are back in their queues. The destructor detaches all threads, so that the process continues
/// unchanged.
///
/// A thread that doesn't stop in time can't be detached: the kernel detaches it when the calling thread ends. All
/// functions must be called by the thread that called freeze().
class FrozenProcess {
public:
    static FrozenProcess freeze(pid_t pid, FreezeOptions options = {});

    /// Does the first half of freeze(), for processes that can't run (a frozen cgroup). Seizes every thread and
    /// requests a stop. Each thread stops as soon as the scheduler runs it.
    static FrozenProcess seize(pid_t pid, FreezeOptions options = {});
    /// Does the second half of freeze(): waits for the stops.
    void stop(FreezeOptions options = {});

    FrozenProcess(FrozenProcess&&) noexcept = default;
    FrozenProcess& operator=(FrozenProcess&& other) noexcept;
    FrozenProcess(const FrozenProcess&) = delete;
    FrozenProcess& operator=(const FrozenProcess&) = delete;
    ~FrozenProcess();

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    /// Returns the threads, the thread-group leader first. Kernel worker threads of the process (io_uring, vhost)
    /// aren't among them, because they execute no code of the process. They aren't stopped: a stop would make the work
    /// fail that they wait for. No frozen thread gives them new work.
    [[nodiscard]] std::vector<FrozenThread>& threads() noexcept { return threads_; }
    [[nodiscard]] const std::vector<FrozenThread>& threads() const noexcept { return threads_; }
    [[nodiscard]] Tracee& leader() noexcept { return threads_.front().tracee; }
    [[nodiscard]] const RemoteMemory& memory() const noexcept { return memory_; }

    /// Returns the address of a system call instruction in the process, or nothing if it has none. The result of
    /// findSyscallInstruction() is cached.
    [[nodiscard]] std::optional<SyscallInstruction> syscallInstruction();
    /// True if the process maps an anonymous inode with this name ("anon_inode:[io_uring]"). Uses the same cached read
    /// of /proc/PID/maps as syscallInstruction().
    [[nodiscard]] bool maps(std::string_view anonymousInode);

    /// Brings a process that isn't stopped into a group-stop by this signal. Uses SIGSTOP if the kernel ignores the
    /// signal (SIGTSTP, SIGTTIN and SIGTTOU of an orphaned process group). The process executes no code, and other
    /// signals stay queued as in any stopped process. Detaching leaves it stopped.
    void stopAsGroup(int signal);

    /// Detaches every thread, the leader last. Tries all threads, then throws the first failure.
    void detach();
    /// Makes the kernel end the process with SIGKILL if the calling thread ends (PTRACE_O_EXITKILL).
    void dieWithTracer();
    /// Sends SIGKILL, and waits until the process is about to free its memory. It frees the memory when kill() or
    /// killFirst() is called or this object is destroyed. For a caller that frees memory faster than the process itself
    /// (process_mrelease(2)). The process executes no more code. False if it has ended.
    [[nodiscard]] bool killWithMemory();
    /// Sends SIGKILL and returns at once, so that several processes end at the same time. The caller must call kill()
    /// later.
    void beginKill();
    /// Ends the process with SIGKILL and waits until its threads have ended. Its parent gets the usual zombie.
    void kill();
    /// Ends the init of a pid namespace with SIGKILL. The kernel ends it only when all other processes of the namespace
    /// are reaped, and their parents may be outside and not wait for them. False if only that delayed it for
    /// `patience`. The process ends by itself later, and stays traced until the calling thread ends.
    [[nodiscard]] bool killFirst(std::chrono::milliseconds patience);
    /// Makes the kernel end the process with SIGKILL when the calling thread ends, not before. Its threads stay stopped
    /// until then. For the init of the caller's own pid namespace, which can't be killed from inside.
    void killAtExit();

private:
    explicit FrozenProcess(pid_t pid) noexcept : pid_(pid), memory_(pid) {}
    enum class Found { All, Perhaps };
    using Deadline = std::chrono::steady_clock::time_point;

    void seizeLeader(const FreezeOptions& options);
    static FrozenProcess seizeFirst(pid_t pid, const FreezeOptions& options);
    /// Returns threads that have ended and aren't reaped yet.
    std::vector<pid_t> seizeNewThreads(const FreezeOptions& options);
    Found seizeListedThreads(const FreezeOptions& options, Deadline deadline);
    void waitForStops(Deadline deadline);
    bool takeStopSignal(int signal);
    /// Returns the threads whose ends the caller must wait for.
    std::vector<Tracee*> sendKill();
    void disown() noexcept;
    void release() noexcept;

    pid_t pid_;
    RemoteMemory memory_;
    std::vector<FrozenThread> threads_;
    std::size_t workers_ = 0;  ///< kernel worker threads at the last count
    std::optional<std::optional<SyscallInstruction>> syscallInstruction_;
    std::set<std::string, std::less<>>
        anonymousInodes_;  ///< mapped anonymous inodes; valid if syscallInstruction_ has a value
};

}  // namespace compel
