// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/engine/restore/birth/early_thread.hpp"
#include "criu/engine/restore/task/thread_steps.hpp"

namespace criu::engine {

/// Addresses at which the process has mapped the members `failure` and `events` of the control page. A program reports
/// a failure there.
struct StepReports {
    std::uint64_t failureAt = 0;
    std::uint64_t eventsAt = 0;
};

/// Part of the restorer's program that runs when the memory of the process is complete. It closes criu's descriptors,
/// sets attributes that only the process and its threads can set, and creates all other threads except late ones.
class TaskSteps {
public:
    /// All arguments except `reports` must outlive this object. `data`: gets the data of the steps.
    TaskSteps(const RestoreRun& run, const model::Task& task, const ThreadDirectories& directories,
              const StepReports& reports, pie::RemoteData& data);

    /// Adds a step that waits until `count` early threads have begun their programs. After this step, no early thread
    /// uses its old stack, so that criu may unmap these stacks.
    void awaitEarlyThreads(std::size_t count, pie::StepList& steps);
    /// Adds the steps of the leader, which create all other threads. `ofRings`: mask of the limits that the creation of
    /// rings sets later (ringLimits()).
    void compose(std::uint32_t ofRings, pie::StepList& steps);
    /// Makes the early threads jump to the interpreter with their programs. Call it when all programs are in place.
    /// `entry`: address of the interpreter's entry.
    void enterEarly(const EarlyThreads& threads, std::uint64_t entry) const;

private:
    struct EarlyProgram {
        TreePid thread;
        std::uint64_t program = 0;
        std::uint64_t stackTop = 0;
    };

    void composeClosing(pie::StepList& steps) const;
    void composeUnsharing(const model::ThreadBirth& birth, pie::StepList& steps);
    void composeSpawning(std::span<const pie::ThreadStart> starts, pie::StepList& steps);
    [[nodiscard]] std::uint64_t placeThread(const model::ThreadBirth& birth, std::span<const pie::ThreadStart> spawned,
                                            pie::StepList& steps);
    [[nodiscard]] pie::ThreadStart startOf(const model::ThreadBirth& birth, std::span<const pie::ThreadStart> spawned);
    void addEarly(const model::ThreadBirth& birth, std::span<const pie::ThreadStart> spawned);
    void composeThreads(pie::StepList& steps);

    const RestoreRun& run_;
    const model::Task& task_;
    const ThreadDirectories& directories_;
    StepReports reports_;
    pie::RemoteData& data_;
    ThreadSteps threads_;
    std::uint64_t threadsReady_;  ///< address of a futex in the data: number of threads whose programs have ended
    /// Address of a futex in the data: number of early threads that have begun their programs.
    std::uint64_t earlyBegun_;
    std::uint64_t earlyGo_;        ///< address of a futex in the data: 1 when early threads may continue
    std::set<std::size_t> early_;  ///< indices of early threads
    std::vector<EarlyProgram> earlyPrograms_;
};

}  // namespace criu::engine
