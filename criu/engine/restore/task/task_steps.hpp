// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "criu/base/ids.hpp"

namespace criu::model {
struct Task;
struct Thread;
struct ThreadBirth;
}  // namespace criu::model

namespace criu::pie {
struct ThreadStart;
class RemoteData;
class StepList;
}  // namespace criu::pie

namespace criu::engine {

class EarlyThread;
struct RestoreRun;
class ThreadDirectories;

/// Where a restorer's program reports to: addresses, in the process, of members of the control page.
struct StepReports {
    std::uint64_t failureAt = 0;
    std::uint64_t eventsAt = 0;
};

using EarlyThreads = std::map<TreePid, std::unique_ptr<EarlyThread>>;

/// The part of a restorer's program that comes when the memory of the process is complete: criu's descriptors are
/// closed, then comes what only the process and its threads can set of themselves, and the creation of all threads but
/// the leader.
class TaskSteps {
public:
    /// All arguments but `reports` outlive this object. What steps refer to is put into `data`.
    TaskSteps(const RestoreRun& run, const model::Task& task, const ThreadDirectories& directories,
              const StepReports& reports, pie::RemoteData& data);

    /// Adds the step that waits until as many early threads have begun their programs: what they are on until then may
    /// go.
    void awaitEarlyThreads(std::size_t count, pie::StepList& steps);
    /// Adds the steps to those of the leader.
    void compose(pie::StepList& steps);
    /// When all is composed and in its place: sends the early threads into their programs. `entry`: of the interpreter.
    void enterEarly(const EarlyThreads& threads, std::uint64_t entry) const;

private:
    struct EarlyProgram {
        TreePid thread;
        std::uint64_t program = 0;
        std::uint64_t stackTop = 0;
    };

    [[nodiscard]] pid_t numberOf(TreePid who) const;
    void composeClosing(pie::StepList& steps) const;
    void composeThread(const model::Thread& thread, pie::StepList& steps);
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
    std::uint64_t threadsReady_;   ///< futex words in the data: this counts threads that have come to their ends,
    std::uint64_t earlyBegun_;     ///< this early threads that have begun,
    std::uint64_t earlyGo_;        ///< and this lets them go on
    std::set<std::size_t> early_;  ///< threads, by index
    std::vector<EarlyProgram> earlyPrograms_;
};

}  // namespace criu::engine
