// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>

namespace compel {
class Tracee;
}  // namespace compel

namespace criu {
class Log;
}

namespace criu::pie {
class RemoteData;
class StepList;
}  // namespace criu::pie

namespace criu::engine {

struct FrozenTask;

/// Refuses threads that are in a Landlock domain. The kernel doesn't show the rules, so a restored thread would be free
/// of them. It doesn't show either which threads are in a domain. But a thread in a domain may not inspect a process
/// outside of it, whatever its user and capabilities (hook_ptrace_access_check(), security/landlock).
///
/// So criu creates a child with the thread's user, group and namespaces and without capabilities. The child ends at
/// once, since a zombie has no memory of criu that others could read. A thread that may compare the zombie with itself
/// by kcmp(2) is in no domain except criu's. A thread that may not is in a domain, unless AppArmor or SELinux denies
/// the access. One child serves all threads of the same user, group and namespaces.
class LandlockCheck {
public:
    explicit LandlockCheck(Log& log);
    ~LandlockCheck();
    LandlockCheck(const LandlockCheck&) = delete;
    LandlockCheck& operator=(const LandlockCheck&) = delete;

    /// Creates the children that check all threads of a process. A child closes its copies of criu's descriptors, and a
    /// FUSE server that gets FUSE_FLUSH for one may never answer. So criu calls this before it has such descriptors.
    void prepare(FrozenTask& task);

    /// Adds the query of a thread. Returns the address of its result; 0 if there is no query.
    [[nodiscard]] std::uint64_t ask(FrozenTask& task, pie::StepList& steps, pie::RemoteData& data);

    /// Throws Error if the thread is in a domain. Warns if that is unknown. The thread must be stopped, and its system
    /// calls must not be dispatched (SyscallDispatchSuspension).
    void requireOutsideDomain(FrozenTask& task, compel::Tracee& thread, std::int64_t answer);

private:
    class Part;

    std::unique_ptr<Part> part_;  ///< null if the kernel has no Landlock
};

}  // namespace criu::engine
