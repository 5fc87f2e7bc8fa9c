// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/image/arena.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"

/// Scheduling policy, priority, nice value and I/O priority of a thread.
namespace criu::task {

struct Scheduling {
    std::uint32_t policy = 0;
    std::uint32_t priority = 0;  ///< priority of a real-time policy
    std::int32_t nice = 0;
    std::uint64_t slice = 0;              ///< nanoseconds, of the fair policies (Linux 6.12)
    std::uint32_t utilMin = 0;            ///< utilization clamps
    std::uint32_t utilMax = 0;            ///< 0: the kernel has no clamps
    std::uint32_t ioPriority = 0;         ///< as ioprio_get(2) returns it
    std::vector<std::uint64_t> affinity;  ///< as kernel::cpuAffinity() returns it
    friend bool operator==(const Scheduling&, const Scheduling&) = default;

    /// Reads the attributes of any thread; 0 is the caller.
    static Scheduling of(HostPid tid);
};

/// `onlineCpus`: kernel::onlineCpus(). A thread that may run on all of these is stored with all bits set, so that it
/// may use all processors after a restore.
void storeScheduling(HostPid tid, std::optional<std::size_t> onlineCpus, ThreadCoreEntry& core, Arena& arena);

/// Sets the attributes of a thread from outside. Throws Error.
void applyScheduling(HostPid tid, const ThreadCoreEntry& core);

/// `now`: the attributes that the thread begins with.
void restoreScheduling(const ThreadCoreEntry& core, const Scheduling& now, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
