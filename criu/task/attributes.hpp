// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>

#include "criu/image/arena.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"
#include "images/mm.fwd.hpp"

/// Flags and settings of a whole process: subreaper, personality, dumpable, brk, THP, OOM score, audit login uid.
namespace criu::task {

/// Reads attributes that only the process itself can read.
class AttributesQuery {
public:
    AttributesQuery(pie::StepList& steps, pie::RemoteData& data);
    void store(pie::RemoteData& answers, TaskCoreEntry& core, MmEntry& mm) const;

private:
    std::uint64_t subreaperAt_;
    std::uint64_t dumpableAt_;
    std::uint64_t breakAt_;
    std::uint64_t noHugePagesAt_;
    std::uint64_t membarrierAt_;
    std::uint64_t denyWritableExecAt_;
    std::uint64_t mergeMemoryAt_;
    std::uint64_t lockedAt_;
};

/// Runs in the restored process as ordinary code, before its memory changes. If the kernel refuses a value, that is an
/// error only if the process has a different one. `privileged`: also calls restorePrivilegedAttributes().
void restoreEarlyAttributes(const TaskCoreEntry& core, bool privileged);

/// Restores the login uid, which each thread has and inherits from its creator. For a thread that was created before
/// the leader had it.
void restoreLoginUid(const TaskCoreEntry& core);

/// Restores attributes that a process in a private user namespace may not set: OOM score, nice value of an autogroup.
void restorePrivilegedAttributes(const TaskCoreEntry& core, const kernel::ProcPid& process);

/// Returns the nice value of a session's autogroup, which the session's leader restores. Empty for other processes and
/// for 0.
std::optional<std::int32_t> autogroupNice(const kernel::ProcPid& process, bool leadsSession);

/// Adds steps that restore the personality.
void restorePersonality(std::uint32_t personality, pie::StepList& steps);

/// Adds steps that run when memory is in place.
void restoreAttributes(const TaskCoreEntry& core, const MmEntry& mm, pie::StepList& steps);

/// The dumpable flag (PR_SET_DUMPABLE) decides whether other processes of the same user may trace a process and open
/// its files in /proc. A restored process mustn't be dumpable by its user before it is complete. So the flag is cleared
/// when the process gets its credentials, and set when it is resumed.
struct Dumpable {
    static constexpr int kNotDumpable = 0;
    static constexpr int kDumpableByUser = 1;
    static constexpr int kDumpableByRoot = 2;

    int now = kNotDumpable;          ///< flag of a restored process before its credentials change
    int afterChange = kNotDumpable;  ///< flag that the kernel sets when effective ids change: fs.suid_dumpable

    /// Reads the flag of the calling process, which children inherit. `changes`: true if credentials will change, so
    /// that afterChange matters. Throws Error.
    static Dumpable ofSelf(bool changes);

    /// True if the flag must be cleared when a process gets its credentials; `mm` has its final flag. `idsChange`: its
    /// effective ids change. Only the kernel sets the value 2 ("by root"), on such a change.
    [[nodiscard]] bool needsClearing(const MmEntry& mm, bool credentialsChange, bool idsChange) const noexcept;
    /// True if a process that keeps criu's credentials is and must be dumpable by its user.
    [[nodiscard]] bool isAsWanted(const MmEntry& mm) const noexcept;
    /// True if the flag must be set at the end, because the image has 1.
    [[nodiscard]] bool needsSetting(const MmEntry& mm, bool credentialsChange) const noexcept;
};

/// Adds a step that clears the flag.
void clearDumpable(pie::StepList& steps);
/// Adds a step that sets the flag. A process may have lost it by a temporary change of ids.
void setDumpable(pie::StepList& steps);

/// Adds a PR_SET_MM_MAP step: code, data, heap, stack, arguments, environment, auxiliary vector and the exe link in one
/// call. `exeFd` stays open until the step has run.
void restoreMemoryLayout(const MmEntry& mm, int exeFd, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
