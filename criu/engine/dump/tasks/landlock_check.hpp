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

/// Refuses threads that are in a Landlock domain: the kernel tells nobody its rules, so a restored thread would be free
/// of them. It doesn't tell either who is in one. But a thread in a domain may not look into a process outside of it
/// (hook_ptrace_access_check() in security/landlock), whatever users and capabilities they have.
///
/// So criu makes a child of its own, of the thread's user, group and namespaces and without capabilities, which ends at
/// once: a zombie has no memory that would have to be open for others (PR_SET_DUMPABLE). A thread that may compare it
/// with itself (kcmp(2)) is in no domain but criu's own. A thread that may not is in one, unless a security module with
/// labels (AppArmor, SELinux) keeps it from that. One child serves all threads of the same user, group and namespaces.
class LandlockCheck {
public:
    explicit LandlockCheck(Log& log);
    ~LandlockCheck();
    LandlockCheck(const LandlockCheck&) = delete;
    LandlockCheck& operator=(const LandlockCheck&) = delete;

    /// Makes the children for all threads of a process. A child closes its copies of criu's descriptors, and a FUSE
    /// server that is asked about one (FUSE_FLUSH) may never answer. So this comes before criu has descriptors of such
    /// files.
    void prepare(FrozenTask& task);

    /// A thread's question. Returns where its answer will be; 0: nothing is asked.
    [[nodiscard]] std::uint64_t ask(FrozenTask& task, pie::StepList& steps, pie::RemoteData& data);

    /// Throws Error if the thread is in a domain, and warns if that isn't known. Its system calls may not be dispatched
    /// (SyscallDispatchSuspension), and nothing runs in it.
    void requireOutsideDomain(FrozenTask& task, compel::Tracee& thread, std::int64_t answer);

private:
    class Part;

    std::unique_ptr<Part> part_;  ///< null: the kernel has no Landlock
};

}  // namespace criu::engine
