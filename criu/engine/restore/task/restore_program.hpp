// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/engine/restore/birth/early_thread.hpp"
#include "criu/memory/pages/ranges.hpp"
#include "criu/pie/program_builder.hpp"

namespace criu::engine {

/// Last program of criu that a restored process executes on its own. It unmaps criu's memory, completes the task's
/// memory, sets attributes that only the task can set, and creates the threads. Afterwards the process is parked, still
/// with all privileges of criu. The coordinator does the remaining work (drop_privileges.hpp).
class RestoreProgram {
public:
    struct Inputs {
        RestoreRun& run;
        const model::Task& task;
        memory::AddressSpace& space;
        TaskFiles& files;
    };

    /// Opens files that the program needs, and finds free addresses for the restorer.
    explicit RestoreProgram(const Inputs& inputs);
    ~RestoreProgram();
    RestoreProgram(const RestoreProgram&) = delete;
    RestoreProgram& operator=(const RestoreProgram&) = delete;

    /// Composes the program and jumps into the interpreter. Throws Error only before the jump. `early`: existing early
    /// threads, which also get programs.
    [[noreturn]] void run(const ThreadDirectories& directories, const EarlyThreads& early);

private:
    void composeMemory(pie::StepList& steps);
    void composeEnd(pie::StepList& steps);
    [[nodiscard]] std::uint64_t controlAddress(const void* member) const;

    Inputs in_;
    std::unique_ptr<memory::VdsoMove> vdso_;
    UniqueFd exe_;
    memory::Range area_;  ///< addresses of the restorer: code, commit word, control page, parking room and data
    std::uint64_t wordAt_ = 0;
    std::uint64_t controlAt_ = 0;
    std::uint64_t parkingAt_ = 0;
    pie::RemoteData data_{0};
};

}  // namespace criu::engine
