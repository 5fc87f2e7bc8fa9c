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

/// Functions for seccomp: strict mode and filters. Each thread has a list of filters. The lists of several threads
/// may contain the same filter.
namespace criu::task {

/// Filters of a thread, in the order in which they were installed.
using SeccompChain = std::vector<compel::SeccompFilter>;

/// Dump half of seccomp. It collects the filters of all threads, and stores equal chains only once.
class SeccompDump {
public:
    /// Index, in seccomp.img, of the filter that the thread installed first; unset if the thread has no filters.
    using Place = std::optional<std::uint32_t>;

    /// Adds the filter chains of all threads of one process; the chain of the leader is the first. If all chains are
    /// equal, only the leader gets them, with SECCOMP_FILTER_FLAG_TSYNC, so that the kernel installs them for all
    /// threads in a restore.
    /// Throws Error for filters that pass system calls to another process.
    std::vector<Place> add(std::vector<SeccompChain> threads);

    /// Writes seccomp.img, even if no thread has a filter.
    void write(const ImageDir& images) const;

private:
    std::uint32_t place(const SeccompChain& chain);

    struct Stored {
        compel::SeccompFilter filter;
        /// Index of the filter that was installed after this one; the image field is named prev.
        std::optional<std::uint32_t> next;
    };
    std::vector<Stored> filters_;
    /// Index of the first filter of a chain, by the hash of the chain.
    std::multimap<std::size_t, std::uint32_t> byHash_;
};

/// Stores the mode and the filters of a thread. `mode` is the mode that /proc shows.
void storeSeccomp(std::optional<kernel::SeccompMode> mode, SeccompDump::Place place, ThreadCoreEntry& core);

/// Filters that one thread installs.
struct SeccompPlan {
    struct Filter {
        std::span<const std::byte> program;
        std::uint32_t flags = 0;
    };
    /// Filters that the leader installs for all threads, before `filters`; empty for other threads.
    std::vector<Filter> forAll;
    std::vector<Filter> filters;
    bool strict = false;
};

/// Returns the plans for the threads of a process, in their order; empty if no thread has filters or strict mode.
/// `filters` is nullptr if seccomp.img doesn't exist; it must live as long as the plans. Throws Error for inconsistent
/// images.
std::vector<SeccompPlan> planSeccomp(const model::Task& task, const SeccompEntry* filters);

/// Throws Error if the kernel shows another mode or another number of filters than the plan of the thread at `index`.
/// `plans` contains the plans of its process; nullptr if the process has no filters.
void requireSeccomp(const std::vector<SeccompPlan>* plans, std::size_t index, const kernel::TaskStatus& status);

/// Adds steps that install `forAll`. The thread must have CAP_SYS_ADMIN, and its tracer must suspend its filters.
void restoreCommonSeccomp(const SeccompPlan& plan, pie::StepList& steps, pie::RemoteData& data);
void restoreSeccomp(const SeccompPlan& plan, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
