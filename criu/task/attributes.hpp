// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>

#include "criu/image/arena.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"
#include "images/mm.fwd.hpp"

/// Flags and settings of a process as a whole: subreaper, personality, dumpable, brk, THP, OOM score, audit login uid.
namespace criu::task {

/// Asks a process for what only it can tell.
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

/// Done by the restored process itself, in ordinary code, before its memory changes. A value the kernel refuses is an
/// error only if it differs from the one the process has anyway.
/// `privileged`: together with restorePrivilegedAttributes().
void restoreEarlyAttributes(const TaskCoreEntry& core, bool privileged);

/// The part of that which each thread has for itself, and which threads inherit from their creator: for one that exists
/// before the leader has it.
void restoreLoginUid(const TaskCoreEntry& core);

/// What a process in a user namespace of its own may not do for itself: OOM score, nice value of an autogroup.
void restorePrivilegedAttributes(const TaskCoreEntry& core, const kernel::ProcPid& process);

/// The nice value of a session's autogroup, which is for its leader to keep; nothing for others, and where it is 0.
std::optional<std::int32_t> autogroupNice(const kernel::ProcPid& process, bool leadsSession);

/// Likewise, in steps.
void restorePersonality(const TaskCoreEntry& core, pie::StepList& steps);

/// Steps for when memory is in place.
void restoreAttributes(const TaskCoreEntry& core, const MmEntry& mm, pie::StepList& steps);

/// The dumpable flag (prctl(2), PR_SET_DUMPABLE) decides whether other processes of the same user may trace a process
/// and open its files in /proc. No process of a restore may be dumpable by a user until it is all that it was: so the
/// flag goes off when a process gets its credentials, and on when it is let go.
struct Dumpable {
    static constexpr int kNotDumpable = 0;
    static constexpr int kDumpableByUser = 1;
    static constexpr int kDumpableByRoot = 2;

    int now = kNotDumpable;          ///< of a process that is restored, before its credentials change
    int afterChange = kNotDumpable;  ///< what the kernel makes of it when effective ids change: fs.suid_dumpable

    /// As the calling process has it, and hands it on to its children. `changes`: whether credentials will change, so
    /// that the other value matters. Throws Error.
    static Dumpable ofSelf(bool changes);

    /// Whether the flag has to be taken away in a process that should have the one of `mm`, when it gets its
    /// credentials. `idsChange`: its effective ids are among what changes. The value 2 ("by root") can be had from the
    /// kernel only, by such a change.
    [[nodiscard]] bool needsClearing(const MmEntry& mm, bool credentialsChange, bool idsChange) const noexcept;
    /// Whether a process that keeps criu's credentials is, and is to be, dumpable by its user.
    [[nodiscard]] bool isAsWanted(const MmEntry& mm) const noexcept;
    /// Whether it has to be set in the end, being 1 in the image.
    [[nodiscard]] bool needsSetting(const MmEntry& mm, bool credentialsChange) const noexcept;
};

/// Takes the flag away.
void clearDumpable(pie::StepList& steps);
/// Makes sure of the flag in a process that may have lost it since it was made, by ids that it had for a moment.
void setDumpable(pie::StepList& steps);

/// PR_SET_MM_MAP: code, data, heap, stack, arguments, environment, auxiliary vector and the exe link in one call.
/// `exeFd` stays open until the step has run.
void restoreMemoryLayout(const MmEntry& mm, int exeFd, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
