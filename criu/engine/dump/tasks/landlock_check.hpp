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

/// Refuses threads that are in a Landlock domain: the kernel doesn't show the rules of a domain, so a restored thread
/// would be free of them. The kernel doesn't show either which threads are in a domain. But it forbids a thread in a
/// domain to inspect a process outside of the domain (hook_ptrace_access_check(), security/landlock).
///
/// So criu creates a child with the thread's user, group and namespaces, and without capabilities. The child ends at
/// once, because other processes can't read criu's memory in a zombie. Then criu makes each thread call kcmp(2) for the
/// zombie. If the kernel refuses the call, the thread is in a domain, or AppArmor or SELinux forbids the access.
class LandlockCheck {
public:
    explicit LandlockCheck(Log& log);
    ~LandlockCheck();
    LandlockCheck(const LandlockCheck&) = delete;
    LandlockCheck& operator=(const LandlockCheck&) = delete;

    /// Creates the zombies for all threads of a process. Call it before criu has descriptors of userspace file systems.
    /// The child that becomes a zombie closes its copies of criu's descriptors. For a FUSE file, this waits for the
    /// FUSE server, which may never reply to FUSE_FLUSH.
    void prepare(FrozenTask& task);

    /// Adds a thread's query to `steps`. Returns the address of the result in `data`; 0 if criu couldn't create the
    /// zombie, so that there is no query.
    [[nodiscard]] std::uint64_t ask(FrozenTask& task, pie::StepList& steps, pie::RemoteData& data);

    /// Throws Error if the thread is in a Landlock domain. Warns if the check can't decide. The thread must be stopped
    /// without syscall user dispatch (compel::SuspendedDispatch). `answer`: result of the query.
    void requireOutsideDomain(FrozenTask& task, compel::Tracee& thread, std::int64_t answer);

private:
    class Part;

    std::unique_ptr<Part> part_;  ///< null if the kernel has no Landlock
};

}  // namespace criu::engine
