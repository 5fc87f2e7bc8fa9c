// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/image/arena.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"

/// Functions for scheduling policy, priority, nice value and I/O priority of a thread.
namespace criu::task {

struct Scheduling {
    std::uint32_t policy = 0;
    std::uint32_t priority = 0;  ///< priority from 1 to 99 of a real-time policy; 0 for other policies
    std::int32_t nice = 0;
    std::uint64_t slice = 0;              ///< custom slice of the fair policies in nanoseconds (Linux 6.12)
    std::uint32_t utilMin = 0;            ///< lower utilization clamp, from 0 to 1024
    std::uint32_t utilMax = 0;            ///< upper utilization clamp; 0 if the kernel has no clamps
    std::uint32_t ioPriority = 0;         ///< value of ioprio_get(2)
    std::vector<std::uint64_t> affinity;  ///< mask of kernel::cpuAffinity()
    friend bool operator==(const Scheduling&, const Scheduling&) = default;

    /// Reads the attributes of a thread; 0 stands for the calling thread.
    static Scheduling of(HostPid tid);

    /// Returns true if the utilization clamps have the default values, or if the kernel has no clamps. The kernel
    /// doesn't show if a thread has set its clamps.
    [[nodiscard]] bool hasUsualClamps() const noexcept;
};

/// Returns the slice of criu's own thread, which is the default of this system.
[[nodiscard]] std::uint64_t usualSlice();

/// Stores the attributes of a thread. `onlineCpus` is the result of kernel::onlineCpus(). If a thread may run on all of
/// these CPUs, all bits of its mask are stored as set, so that it may use all processors after a restore. `usual`:
/// result of usualSlice(); the function stores only another slice.
void storeScheduling(HostPid tid, std::optional<std::size_t> onlineCpus, std::uint64_t usual, ThreadCoreEntry& core,
                     Arena& arena);

/// Sets the attributes of another thread. Throws Error.
void applyScheduling(HostPid tid, const ThreadCoreEntry& core);

/// Adds steps that set the attributes. `now` contains the attributes that the thread has before these steps.
void restoreScheduling(const ThreadCoreEntry& core, const Scheduling& now, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
