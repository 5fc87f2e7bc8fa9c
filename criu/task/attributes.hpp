// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>

#include "criu/image/arena.hpp"
#include "criu/kernel/procdir.hpp"
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
};

/// Done by the restored process itself, in ordinary code, before its memory changes. A value the kernel refuses is an
/// error only if it differs from the one the process has anyway.
/// `privileged`: together with restorePrivilegedAttributes().
void restoreEarlyAttributes(const TaskCoreEntry& core, bool privileged);

/// What a process in a user namespace of its own may not do for itself: OOM score, nice value of an autogroup.
void restorePrivilegedAttributes(const TaskCoreEntry& core, const kernel::ProcPid& process);

/// The nice value of a session's autogroup, which is for its leader to keep; nothing for others, and where it is 0.
std::optional<std::int32_t> autogroupNice(const kernel::ProcPid& process, bool leadsSession);

/// Steps for when memory is in place. `mm.dumpable` comes last of all: changes of credentials reset it.
void restoreAttributes(const TaskCoreEntry& core, const MmEntry& mm, pie::StepList& steps);
void restoreDumpable(const MmEntry& mm, pie::StepList& steps);

/// PR_SET_MM_MAP: code, data, heap, stack, arguments, environment, auxiliary vector and the exe link in one call.
/// `exeFd` stays open until the step has run.
void restoreMemoryLayout(const MmEntry& mm, int exeFd, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
