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

/// A program that is placed in a process, for one of its threads.
struct RemoteProgram {
    compel::Tracee* thread = nullptr;
    std::uint64_t program = 0;   ///< address of the pie::Program in the process
    std::uint64_t steps = 0;     ///< address of its first pie::Step
    std::uint32_t count = 0;     ///< number of steps
    std::uint64_t stackTop = 0;  ///< end of the stack in the process
};

/// Number of threads that execute their programs at the same time.
inline constexpr std::size_t kThreadsAtOnce = 128;

/// Puts steps and a stack into `data`. `thread` may be null if the caller only needs the size.
RemoteProgram placeProgram(pie::StepList& steps, pie::RemoteData& data, compel::Tracee* thread);

/// Writes `data` into the process, runs all programs in parallel and reads `data` back. Returns the ended runs,
/// which have the threads' original registers and signal masks; the threads have these again. Throws Error that
/// names thread and step if a program didn't complete, and rethrows an Error of `stop`.
/// Other processes may write to the memory during the run (process_vm_writev(2), shared memory). So the caller may
/// only use results from the data, never addresses and counts.
std::vector<compel::BlobRun> runPrograms(compel::Injection& injection, pie::RemoteData& data,
                                         std::span<const RemoteProgram> programs, StopRequest* stop = nullptr);

/// Places `steps` in `data` and runs them in one thread, as runPrograms() does. Returns the placed program.
RemoteProgram runProgram(compel::Injection& injection, pie::StepList& steps, pie::RemoteData& data,
                         compel::Tracee& thread, StopRequest* stop = nullptr);

}  // namespace criu::engine
