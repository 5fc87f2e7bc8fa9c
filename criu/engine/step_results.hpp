// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/injection.hpp>
#include <compel/tracee.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "criu/pie/program_builder.hpp"

namespace criu::engine {

/// A list of steps that a thread is to go through in its process.
struct RemoteProgram {
    compel::Tracee* thread = nullptr;
    std::uint64_t program = 0;
    std::uint64_t stackTop = 0;
};

/// How many threads go through their programs at the same time.
inline constexpr std::size_t kThreadsAtOnce = 128;

/// Puts steps, and a stack to go through them, into `data`. `thread`: may be null for a measurement.
RemoteProgram placeProgram(pie::StepList& steps, pie::RemoteData& data, compel::Tracee* thread);

/// Writes `data` into the process, has all programs run side by side and reads `data` back. The threads are still as
/// they were in the run. Throws Error naming thread and step if one didn't come to its end.
std::vector<compel::BlobRun> runPrograms(compel::Injection& injection, pie::RemoteData& data,
                                         std::span<const RemoteProgram> programs);

}  // namespace criu::engine
