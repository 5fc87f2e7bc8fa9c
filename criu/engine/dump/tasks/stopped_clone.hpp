// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <signal.h>

#include <compel/remote_memory.hpp>
#include <compel/remote_syscalls.hpp>
#include <compel/tracee.hpp>

#include <cstdint>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::engine {

struct FrozenTask;

/// Page in a frozen process for arguments and results of system calls that criu makes in it.
struct RemoteScratchPage {
    static constexpr std::uint64_t kSize = 4096;
    static constexpr std::uint64_t kOldAction = 0;
    static constexpr std::uint64_t kIgnore = 128;
    static constexpr std::uint64_t kSignal = 256;
    static constexpr std::uint64_t kFolder = 512;

    RemoteScratchPage(FrozenTask& owner, compel::RemoteSyscalls& by);

    [[nodiscard]] compel::RemoteAddress at(std::uint64_t offset) const noexcept { return buffer.address() + offset; }

    FrozenTask& task;
    compel::RemoteSyscalls& calls;
    compel::RemoteBuffer buffer;
    const compel::RemoteMemory& memory;
};

/// Throws Error if a SIGCHLD is pending for a single thread of the process. IgnoredSigchld discards it and couldn't
/// send it to this thread again.
void requireIgnorableSigchld(const FrozenTask& task);

/// Scope in which a process ignores SIGCHLD, so that the process doesn't notice the end of criu's clone. The kernel
/// then reaps the ended clone itself, sends no signal, and doesn't count the clone in getrusage(2).
///
/// When a process begins to ignore SIGCHLD, the kernel discards its pending SIGCHLD signals. The destructor sends them
/// again.
class IgnoredSigchld {
public:
    /// `pid`: pid of the process in its own pid namespace.
    IgnoredSigchld(RemoteScratchPage& exchange, TreePid pid);
    ~IgnoredSigchld();
    IgnoredSigchld(const IgnoredSigchld&) = delete;
    IgnoredSigchld& operator=(const IgnoredSigchld&) = delete;

private:
    [[nodiscard]] std::int64_t action(compel::RemoteAddress set, compel::RemoteAddress old) const;

    RemoteScratchPage& exchange_;
    TreePid pid_;
    std::vector<siginfo_t> pending_;
    bool changed_ = false;
};

/// Stopped clone, which criu traces from its creation. The destructor kills the clone.
class StoppedClone {
public:
    /// Makes a thread of `process` call clone(2). Throws Error or compel::Error. `calls`: makes system calls in this
    /// thread.
    StoppedClone(compel::RemoteSyscalls& calls, const kernel::ProcPid& process, unsigned long flags);
    /// Makes a clone with pid `number` in the thread's pid namespace. The next child of the process gets the same pid
    /// as without this clone. Throws Error with EPERM if the thread may not choose pids, and with EINVAL or EEXIST if
    /// the pid isn't available. `room`: address of kRoom bytes in the process.
    StoppedClone(compel::RemoteSyscalls& calls, const kernel::ProcPid& process, unsigned long flags, pid_t number,
                 compel::RemoteAddress room, const compel::RemoteMemory& memory);
    static constexpr std::uint64_t kRoom = 256;
    ~StoppedClone();
    StoppedClone(const StoppedClone&) = delete;
    StoppedClone& operator=(const StoppedClone&) = delete;

    [[nodiscard]] compel::Tracee& tracee() noexcept { return tracee_; }
    /// Returns the clone's pid in the pid namespace of the cloned thread.
    [[nodiscard]] pid_t number() const noexcept { return number_; }

    /// Kills the clone, which stays a zombie until the destructor. The clone's parent can notice the end only then.
    /// Throws Error.
    void end();

private:
    void kill() noexcept;
    compel::Tracee find(compel::RemoteSyscalls& calls, const kernel::ProcPid& process) const;
    void begin();

    pid_t number_ = 0;
    compel::Tracee tracee_;
};

}  // namespace criu::engine
