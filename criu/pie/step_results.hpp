// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/injection.hpp>
#include <compel/tracee.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "criu/base/stop_request.hpp"
#include "criu/pie/program_builder.hpp"

namespace criu::engine {

/// Program in the memory of another process, for one thread of the process.
struct RemoteProgram {
    compel::Tracee* thread = nullptr;
    std::uint64_t program = 0;   ///< address of the pie::Program in the process
    std::uint64_t steps = 0;     ///< address of the program's first pie::Step
    std::uint32_t count = 0;     ///< number of steps
    std::uint64_t stackTop = 0;  ///< end of the stack in the process
};

/// Maximum number of threads that execute their programs at the same time.
inline constexpr std::size_t kThreadsAtOnce = 128;

/// Puts the steps and a stack for `thread` into `data`. `thread` may be null if the caller only needs the size of the
/// data.
RemoteProgram placeProgram(pie::StepList& steps, pie::RemoteData& data, compel::Tracee* thread);

/// Writes `data` into the process, and starts all programs. The destructors of the runs stop programs that still run.
std::vector<compel::BlobRun> startPrograms(compel::Injection& injection, pie::RemoteData& data,
                                           std::span<const RemoteProgram> programs);

/// Waits for the end of the `runs` of startPrograms(), and reads `data` back. The threads then have their registers and
/// signal masks again, which the runs still contain. Throws Error with thread and step if a program didn't complete, or
/// if a stop is requested. The caller must not use addresses or counts from `data`, because other processes may write
/// to this memory during the run (process_vm_writev(2)).
void finishPrograms(compel::Injection& injection, pie::RemoteData& data, std::span<const RemoteProgram> programs,
                    std::span<compel::BlobRun> runs, StopRequest* stop = nullptr);

/// Runs all programs in parallel by startPrograms() and finishPrograms(). Returns the ended runs.
std::vector<compel::BlobRun> runPrograms(compel::Injection& injection, pie::RemoteData& data,
                                         std::span<const RemoteProgram> programs, StopRequest* stop = nullptr);

/// Puts `steps` into `data`, and runs them in one thread by runPrograms(). Returns the program, by which the caller
/// finds the results.
RemoteProgram runProgram(compel::Injection& injection, pie::StepList& steps, pie::RemoteData& data,
                         compel::Tracee& thread, StopRequest* stop = nullptr);

}  // namespace criu::engine
