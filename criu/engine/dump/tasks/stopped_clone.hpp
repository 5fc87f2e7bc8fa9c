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

/// A page in a frozen process for what its system calls take and give.
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

/// Throws Error if a SIGCHLD is pending for a single thread of the process: then IgnoredSigchld can't be made.
void requireIgnorableSigchld(const FrozenTask& task);

/// For as long as this lives a child of the process may end without a trace: while SIGCHLD is ignored, the kernel reaps
/// children itself, sends no signal, and adds nothing to what getrusage(2) says of children.
///
/// Ignoring a signal also discards those that are pending, so these are put back.
class IgnoredSigchld {
public:
    /// `pid`: how the process calls itself.
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

/// A clone that criu traces from its birth. Killed by the destructor: let go it would run.
class StoppedClone {
public:
    /// Has the thread that `calls` are made in, of `process`, clone itself. Throws Error, or compel::Error.
    StoppedClone(compel::RemoteSyscalls& calls, const kernel::ProcPid& process, unsigned long flags);
    /// The same with a number of choice in the pid namespace that it is born in, so that the next child of the process
    /// has the number that it would have had without criu. Throws Error with EPERM if the thread isn't allowed to
    /// choose, with EINVAL or EEXIST if it can't have it. `room`: kRoom bytes of the process' memory.
    StoppedClone(compel::RemoteSyscalls& calls, const kernel::ProcPid& process, unsigned long flags, pid_t number,
                 compel::RemoteAddress room, const compel::RemoteMemory& memory);
    static constexpr std::uint64_t kRoom = 256;
    ~StoppedClone();
    StoppedClone(const StoppedClone&) = delete;
    StoppedClone& operator=(const StoppedClone&) = delete;

    [[nodiscard]] compel::Tracee& tracee() noexcept { return tracee_; }
    /// How the thread that made it calls it, in its own pid namespace.
    [[nodiscard]] pid_t number() const noexcept { return number_; }

    /// Kills it. Until destruction, with which its parent gets to know, it is a zombie. Throws Error.
    void end();

private:
    void kill() noexcept;
    compel::Tracee find(compel::RemoteSyscalls& calls, const kernel::ProcPid& process) const;
    void begin();

    pid_t number_ = 0;
    compel::Tracee tracee_;
};

}  // namespace criu::engine
