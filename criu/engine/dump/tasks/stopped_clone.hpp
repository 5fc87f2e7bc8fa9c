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

/// A page in a frozen process for arguments and results of its system calls.
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

/// Throws Error if a SIGCHLD is pending for a single thread of the process. IgnoredSigchld couldn't send that one
/// again.
void requireIgnorableSigchld(const FrozenTask& task);

/// Ignores SIGCHLD in a process while this object lives, so that a child ends without a trace. The kernel then reaps
/// children itself, sends no signal, and doesn't count them in getrusage(2).
///
/// The kernel discards pending signals that become ignored. The destructor sends them again.
class IgnoredSigchld {
public:
    /// `pid` is the pid of the process in its own namespace.
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

/// A clone that criu traces from its creation. The destructor kills it: if it were detached, it would run.
class StoppedClone {
public:
    /// Makes a thread of `process` clone itself. `calls` are made in that thread. Throws Error or compel::Error.
    StoppedClone(compel::RemoteSyscalls& calls, const kernel::ProcPid& process, unsigned long flags);
    /// Makes a clone with pid `number` in its pid namespace. The next child of the process then gets the pid that it
    /// would get without criu. Throws Error with EPERM if the thread may not choose pids, with EINVAL or EEXIST if the
    /// pid isn't available. `room` has kRoom bytes of the process' memory.
    StoppedClone(compel::RemoteSyscalls& calls, const kernel::ProcPid& process, unsigned long flags, pid_t number,
                 compel::RemoteAddress room, const compel::RemoteMemory& memory);
    static constexpr std::uint64_t kRoom = 256;
    ~StoppedClone();
    StoppedClone(const StoppedClone&) = delete;
    StoppedClone& operator=(const StoppedClone&) = delete;

    [[nodiscard]] compel::Tracee& tracee() noexcept { return tracee_; }
    /// Returns its pid in the pid namespace of the thread that made it.
    [[nodiscard]] pid_t number() const noexcept { return number_; }

    /// Kills it. It stays a zombie until the destructor, which lets its parent notice. Throws Error.
    void end();

private:
    void kill() noexcept;
    compel::Tracee find(compel::RemoteSyscalls& calls, const kernel::ProcPid& process) const;
    void begin();

    pid_t number_ = 0;
    compel::Tracee tracee_;
};

}  // namespace criu::engine
