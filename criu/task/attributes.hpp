// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>

#include "criu/image/arena.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"
#include "images/mm.fwd.hpp"

/// Functions for flags and settings of a whole process: subreaper, personality, dumpable flag, brk, huge pages, OOM
/// score and login uid.
namespace criu::task {

/// Query of attributes that only the process itself can read.
class AttributesQuery {
public:
    AttributesQuery(pie::StepList& steps, pie::RemoteData& data);
    /// `threads`: number of threads of the process. `cpus`: result of kernel::onlineCpus().
    void store(pie::RemoteData& answers, std::size_t threads, std::optional<std::size_t> cpus, TaskCoreEntry& core,
               MmEntry& mm) const;

private:
    std::uint64_t subreaperAt_;
    std::uint64_t dumpableAt_;
    std::uint64_t breakAt_;
    std::uint64_t noHugePagesAt_;
    std::uint64_t membarrierAt_;
    std::uint64_t barriersAt_;  ///< results of membarrier(2) for each of kBarriers
    std::uint64_t denyWritableExecAt_;
    std::uint64_t mergeMemoryAt_;
    std::uint64_t futexSlotsAt_;
    std::uint64_t lockedAt_;
};

/// Sets attributes in the restored process before its memory changes. It runs as ordinary code. If the kernel refuses a
/// value, this is an error only if the current value differs. If `privileged` is true, it also calls
/// restorePrivilegedAttributes().
void restoreEarlyAttributes(const TaskCoreEntry& core, bool privileged);

/// Restores the login uid of the calling thread. A new thread inherits the login uid of its creator, so this is only
/// for threads that were created before the leader's login uid was set.
void restoreLoginUid(const TaskCoreEntry& core);

/// Restores attributes that a process in a private user namespace must not set: OOM score and nice value of an
/// autogroup.
void restorePrivilegedAttributes(const TaskCoreEntry& core, const kernel::ProcPid& process);

/// Returns the nice value of a session's autogroup, which the session leader restores. Returns nullopt for other
/// processes, and for the value 0.
std::optional<std::int32_t> autogroupNice(const kernel::ProcPid& process, bool leadsSession);

/// Adds steps that restore the personality.
void restorePersonality(std::uint32_t personality, pie::StepList& steps);

/// Adds steps that must run when the memory of the process is complete.
void restoreAttributes(const TaskCoreEntry& core, const MmEntry& mm, pie::StepList& steps);

/// State of the dumpable flag (PR_SET_DUMPABLE), which decides if other processes of the same user may trace a process
/// and open its files in /proc. The user must not get access to a restored process before it is complete. So criu
/// clears the flag when the process gets its credentials, and sets it when it resumes the process.
struct Dumpable {
    static constexpr int kNotDumpable = 0;
    static constexpr int kDumpableByUser = 1;
    static constexpr int kDumpableByRoot = 2;

    int now = kNotDumpable;          ///< flag of a restored process before criu changes its credentials
    int afterChange = kNotDumpable;  ///< flag that the kernel sets when the effective ids change (fs.suid_dumpable)

    /// Reads the flag of the calling process, which its children inherit. Reads afterChange only if `changes` is true,
    /// because it matters only when credentials change. Throws Error.
    static Dumpable ofSelf(bool changes);

    /// Returns true if criu must clear the flag when a process gets its credentials. `mm` contains the final flag.
    /// `idsChange` is true if the effective ids change. In this case, the kernel may set the flag to 2 ("by root"),
    /// which criu itself can't set.
    [[nodiscard]] bool needsClearing(const MmEntry& mm, bool credentialsChange, bool idsChange) const noexcept;
    /// Returns true if a process that keeps criu's credentials already has the flag 1 and must have it.
    [[nodiscard]] bool isAsWanted(const MmEntry& mm) const noexcept;
    /// Returns true if criu must set the flag at the end, because the image contains 1.
    [[nodiscard]] bool needsSetting(const MmEntry& mm, bool credentialsChange) const noexcept;
};

/// Adds a step that clears the flag.
void clearDumpable(pie::StepList& steps);
/// Adds a step that sets the flag, which the kernel may have cleared after a temporary change of ids.
void setDumpable(pie::StepList& steps);

/// Adds a PR_SET_MM_MAP step. It sets the addresses of code, data, heap, stack, arguments and environment, the
/// auxiliary vector and the exe link in one call. The descriptor `exeFd` must be open until the step has run.
void restoreMemoryLayout(const MmEntry& mm, int exeFd, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
