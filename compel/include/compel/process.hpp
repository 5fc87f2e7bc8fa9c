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
    /// Error if a thread hasn't stopped by then: it is stuck in the kernel (state D), such as a parent in vfork(2).
    std::chrono::milliseconds patience{10'000};
};

struct FrozenThread {
    Tracee tracee;
    /// The signal of the group-stop the thread was found in; 0 if it was running. Detaching leaves that as it was.
    int stopSignal = 0;

    [[nodiscard]] bool groupStopped() const noexcept { return stopSignal != 0; }
};

/// All threads of a process, seized and stopped between two instructions of theirs (StopInfo Interrupted or GroupStop).
/// Signals that were being delivered are back in their queues. Destruction detaches all threads, so that the process
/// goes on as it was.
///
/// A thread that doesn't stop in time can't be detached either: the kernel detaches it when the calling thread ends.
/// Everything must be called from the thread that called freeze().
class FrozenProcess {
public:
    static FrozenProcess freeze(pid_t pid, FreezeOptions options = {});

    /// The first half of it, for processes that can't run at the moment (a frozen cgroup): every thread is seized and
    /// asked to stop, and stops as soon as the scheduler runs it.
    static FrozenProcess seize(pid_t pid, FreezeOptions options = {});
    /// The second half.
    void stop(FreezeOptions options = {});

    FrozenProcess(FrozenProcess&&) noexcept = default;
    FrozenProcess& operator=(FrozenProcess&& other) noexcept;
    FrozenProcess(const FrozenProcess&) = delete;
    FrozenProcess& operator=(const FrozenProcess&) = delete;
    ~FrozenProcess();

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    /// The thread-group leader comes first. Threads in which the kernel works for the process (io_uring, vhost) aren't
    /// among them: they have no code of the process to run. They aren't stopped either, which would make what they wait
    /// for fail; but nobody gives them new work.
    [[nodiscard]] std::vector<FrozenThread>& threads() noexcept { return threads_; }
    [[nodiscard]] const std::vector<FrozenThread>& threads() const noexcept { return threads_; }
    [[nodiscard]] Tracee& leader() noexcept { return threads_.front().tracee; }
    [[nodiscard]] const RemoteMemory& memory() const noexcept { return memory_; }

    /// Where a system call instruction lies in the process (findSyscallInstruction(), looked up once); nothing if there
    /// is none.
    [[nodiscard]] std::optional<SyscallInstruction> syscallInstruction();
    /// Whether it maps something without a path of its own that is called so ("anon_inode:[io_uring]"). Told by the
    /// same look at its mappings.
    [[nodiscard]] bool maps(std::string_view anonymousInode);

    /// Brings a process that isn't stopped into a group-stop by this signal, or by SIGSTOP if the kernel ignores that
    /// one (SIGTSTP, SIGTTIN and SIGTTOU of an orphaned process group). None of its code runs, and other signals stay
    /// in their queues, as they do in a stopped process. Detaching leaves it stopped.
    void stopAsGroup(int signal);

    /// Detaches every thread, the leader last; throws the first failure after having tried all.
    void detach();
    /// From here on the kernel ends the process with SIGKILL if the calling thread ends (PTRACE_O_EXITKILL).
    void dieWithTracer();
    /// Sends SIGKILL, and waits until the process would give up its memory: it does so when kill() or killFirst() is
    /// called, or this object is destroyed. Nothing of it runs any more. False if it has ended. For whoever can free
    /// memory faster than the process itself (process_mrelease(2)).
    [[nodiscard]] bool killWithMemory();
    /// Sends SIGKILL, and returns at once: the process ends while others are dealt with. To be followed by kill().
    void beginKill();
    /// Ends the process with SIGKILL and waits until its threads are gone; its parent sees the usual zombie.
    void kill();
    /// The same for the first process of a pid namespace, which ends only when everybody else in there has been reaped,
    /// whose parents may be outside and don't wait for them. False: for as long as `patience` nothing but that has held
    /// it up. It ends by itself when it can, and stays traced until the calling thread ends.
    [[nodiscard]] bool killFirst(std::chrono::milliseconds patience);
    /// The kernel ends the process with SIGKILL when the calling thread ends, and not before; its threads stand still
    /// until then. For the first process of the caller's own pid namespace: it can't be killed from inside.
    void killAtExit();

private:
    explicit FrozenProcess(pid_t pid) noexcept : pid_(pid), memory_(pid) {}
    enum class Found { All, Perhaps };
    using Deadline = std::chrono::steady_clock::time_point;

    void seizeLeader(const FreezeOptions& options);
    static FrozenProcess seizeFirst(pid_t pid, const FreezeOptions& options);
    /// Returns those that have ended but aren't reaped yet.
    std::vector<pid_t> seizeNewThreads(const FreezeOptions& options);
    Found seizeListedThreads(const FreezeOptions& options, Deadline deadline);
    void waitForStops(Deadline deadline);
    bool takeStopSignal(int signal);
    /// Returns the threads, whose ends are to be waited for.
    std::vector<Tracee*> sendKill();
    void disown() noexcept;
    void release() noexcept;

    pid_t pid_;
    RemoteMemory memory_;
    std::vector<FrozenThread> threads_;
    std::size_t workers_ = 0;  ///< the kernel's own threads when they were last counted
    std::optional<std::optional<SyscallInstruction>> syscallInstruction_;
    std::set<std::string, std::less<>> anonymousInodes_;  ///< that it maps, known with the former
};

}  // namespace compel
