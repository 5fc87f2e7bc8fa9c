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

/// Seccomp: strict mode and filters, which are each thread's own but may be common to all of a process.
namespace criu::task {

/// Filters of a thread in the order they were installed.
using SeccompChain = std::vector<compel::SeccompFilter>;

/// Dump half: gathers the filters of all threads; equal chains are kept once.
class SeccompDump {
public:
    /// What a thread's image says: the place of its first filter in seccomp.img.
    using Place = std::optional<std::uint32_t>;

    /// `threads`: chains of all threads of one process, the leader's first. Chains that are equal in all of them are
    /// the leader's alone, marked with SECCOMP_FILTER_FLAG_TSYNC: so the kernel will know them as common after the
    /// restore. Throws Error for filters that hand system calls to another process.
    std::vector<Place> add(std::vector<SeccompChain> threads);

    /// Writes seccomp.img, which is there even if it's empty.
    void write(const ImageDir& images) const;

private:
    std::uint32_t place(const SeccompChain& chain);

    struct Stored {
        compel::SeccompFilter filter;
        std::optional<std::uint32_t> next;  ///< the field is called prev
    };
    std::vector<Stored> filters_;
    std::multimap<std::size_t, std::uint32_t> byHash_;  ///< of chains, to their first filter
};

/// Sets a thread's mode and filter. `mode`: what /proc says.
void storeSeccomp(std::optional<kernel::SeccompMode> mode, SeccompDump::Place place, ThreadCoreEntry& core);

/// What one thread is to install.
struct SeccompPlan {
    struct Filter {
        std::span<const std::byte> program;
        std::uint32_t flags = 0;
    };
    std::vector<Filter> forAll;  ///< of the leader only: installed for all threads, before all others
    std::vector<Filter> filters;
    bool strict = false;
};

/// Plans for the threads of a process, in its order; empty when none of them has anything to install. `filters` is null
/// without a seccomp.img, and must live as long as the plans. Throws Error if the images contradict themselves.
std::vector<SeccompPlan> planSeccomp(const model::Task& task, const SeccompEntry* filters);

/// Throws Error if the kernel says something else of a thread's mode, or of how many filters it has, than the plans of
/// its process (null without) have for the thread at `index`.
void requireSeccomp(const std::vector<SeccompPlan>* plans, std::size_t index, const kernel::TaskStatus& status);

/// Steps of a thread that still may do everything (CAP_SYS_ADMIN) and whose tracer keeps the filters from working.
void restoreCommonSeccomp(const SeccompPlan& plan, pie::StepList& steps, pie::RemoteData& data);
void restoreSeccomp(const SeccompPlan& plan, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
