// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/memory/pages/ranges.hpp"
#include "criu/pie/program_builder.hpp"

namespace criu::memory {
class VdsoMove;
}

namespace criu::engine {
class EarlyThread;
struct RestoreRun;
class TaskFiles;
class ThreadDirectories;
}  // namespace criu::engine

namespace criu::memory {
class AddressSpace;
}

namespace criu::model {
struct Task;
}  // namespace criu::model

namespace criu::engine {

using EarlyThreads = std::map<TreePid, std::unique_ptr<EarlyThread>>;

/// The last code that a process which is being restored executes of its own: takes criu's memory away, completes the
/// task's, sets what only the task itself can set, creates its threads, and parks, with all the rights that criu has.
/// From there the master takes it to its end (last_steps.hpp).
class RestoreProgram {
public:
    struct Inputs {
        RestoreRun& run;
        const model::Task& task;
        memory::AddressSpace& space;
        TaskFiles& files;
    };

    /// Opens what the program needs and finds a place for it.
    explicit RestoreProgram(const Inputs& inputs);
    ~RestoreProgram();
    RestoreProgram(const RestoreProgram&) = delete;
    RestoreProgram& operator=(const RestoreProgram&) = delete;

    /// Composes the program and jumps into it. Throws as long as there is a way back.
    /// `early`: threads that exist already, and come along.
    [[noreturn]] void run(const ThreadDirectories& directories, const EarlyThreads& early);

private:
    void composeMemory(pie::StepList& steps);
    void composeEnd(pie::StepList& steps);
    [[nodiscard]] std::uint64_t controlAddress(const void* member) const;

    Inputs in_;
    std::unique_ptr<memory::VdsoMove> vdso_;
    UniqueFd exe_;
    memory::Range area_;  ///< all that is kept: code, control page, parking, data
    std::uint64_t controlAt_ = 0;
    std::uint64_t parkingAt_ = 0;
    pie::RemoteData data_{0};
};

}  // namespace criu::engine
