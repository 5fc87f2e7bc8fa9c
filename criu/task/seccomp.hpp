// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/tracee.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "criu/kernel/proc/status.hpp"
#include "images/core.fwd.hpp"
#include "images/seccomp.fwd.hpp"

namespace criu {
class ImageDir;
}

namespace criu::kernel {
struct TaskStatus;
}

namespace criu::model {
struct Task;
}

namespace criu::pie {
class RemoteData;
class StepList;
}  // namespace criu::pie

/// Seccomp: strict mode and filters. Each thread has its own; filters may be common to all threads of a process.
namespace criu::task {

/// Filters of a thread in the order of their installation.
using SeccompChain = std::vector<compel::SeccompFilter>;

/// Dump half: collects the filters of all threads and stores equal chains once.
class SeccompDump {
public:
    /// Index of a thread's first filter in seccomp.img.
    using Place = std::optional<std::uint32_t>;

    /// `threads`: chains of all threads of one process, the leader's first. If all are equal, only the leader gets
    /// them, marked with SECCOMP_FILTER_FLAG_TSYNC, so that the kernel treats them as common after the restore. Throws
    /// Error for filters that pass system calls to another process.
    std::vector<Place> add(std::vector<SeccompChain> threads);

    /// Writes seccomp.img, even if it is empty.
    void write(const ImageDir& images) const;

private:
    std::uint32_t place(const SeccompChain& chain);

    struct Stored {
        compel::SeccompFilter filter;
        std::optional<std::uint32_t> next;  ///< the image field is called prev
    };
    std::vector<Stored> filters_;
    std::multimap<std::size_t, std::uint32_t> byHash_;  ///< key: hash of a chain; value: its first filter
};

/// Stores a thread's mode and filter. `mode`: as /proc shows it.
void storeSeccomp(std::optional<kernel::SeccompMode> mode, SeccompDump::Place place, ThreadCoreEntry& core);

/// Filters that one thread installs.
struct SeccompPlan {
    struct Filter {
        std::span<const std::byte> program;
        std::uint32_t flags = 0;
    };
    std::vector<Filter> forAll;  ///< leader only: installed for all threads, before all others
    std::vector<Filter> filters;
    bool strict = false;
};

/// Plans for the threads of a process, in their order; empty if none has filters or strict mode. `filters`: null
/// without a seccomp.img; must live as long as the plans. Throws Error for inconsistent images.
std::vector<SeccompPlan> planSeccomp(const model::Task& task, const SeccompEntry* filters);

/// Throws Error if the kernel's mode or number of filters differs from the plan of the thread at `index`. `plans`: of
/// its process; null without filters.
void requireSeccomp(const std::vector<SeccompPlan>* plans, std::size_t index, const kernel::TaskStatus& status);

/// Add steps for a thread with CAP_SYS_ADMIN whose tracer suspends its filters.
void restoreCommonSeccomp(const SeccompPlan& plan, pie::StepList& steps, pie::RemoteData& data);
void restoreSeccomp(const SeccompPlan& plan, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
