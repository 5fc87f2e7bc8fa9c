// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>

namespace compel {
class Injection;
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
/// of them. It doesn't tell either who is in one. Two things are different for those who are:
///
/// - A thread may enter only so many domains one in the other, in all it has ever entered or inherited. So a clone of
///   it, which is killed afterwards, enters as many as it can. This is certain, but takes some hundred system calls.
/// - It may not look into a process outside of its domain (hook_ptrace_access_check() in security/landlock/task.c).
///   Whoever may look into such a clone, whose maker was in none, is in none either. That is one call of kcmp(2). It
///   proves nothing if it fails: users and capabilities have to fit, too.
///
/// So one clone serves all threads of the same credentials, in all processes of a pid namespace. It stays as a zombie,
/// which has no memory that would have to be open for others (PR_SET_DUMPABLE), until this object ends.
class LandlockCheck {
public:
    explicit LandlockCheck(Log& log);
    ~LandlockCheck();
    LandlockCheck(const LandlockCheck&) = delete;
    LandlockCheck& operator=(const LandlockCheck&) = delete;

    /// Sees to it that threads of the process can be asked. Its system calls may not be dispatched
    /// (SyscallDispatchSuspension), and nothing runs in it. Throws Error if its leader is in a domain.
    void prepare(FrozenTask& task, compel::Injection& injection);

    /// A thread's question. Returns where its answer will be; 0: nothing is asked.
    [[nodiscard]] std::uint64_t ask(FrozenTask& task, pie::StepList& steps, pie::RemoteData& data) const;

    /// Throws Error if the thread is in a domain. As prepare() otherwise.
    void requireOutsideDomain(FrozenTask& task, compel::Tracee& thread, std::int64_t answer,
                              compel::Injection& injection);

    /// All processes have been asked: what couldn't be known before is known now, or there is a warning. Throws Error.
    void finish();

private:
    class Part;

    std::unique_ptr<Part> part_;  ///< null: the kernel has no Landlock
};

}  // namespace criu::engine
