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

/// A list of steps placed in a process, for one of its threads to execute.
struct RemoteProgram {
    compel::Tracee* thread = nullptr;
    std::uint64_t program = 0;   ///< address of the pie::Program in the process
    std::uint64_t stackTop = 0;  ///< end of its stack, there too
};

/// How many threads execute their programs at the same time.
inline constexpr std::size_t kThreadsAtOnce = 128;

/// Puts steps, and a stack for their execution, into `data`. `thread`: may be null where only the size matters.
RemoteProgram placeProgram(pie::StepList& steps, pie::RemoteData& data, compel::Tracee* thread);

/// Writes `data` into the process, has all programs run side by side and reads `data` back. Returns the ended runs,
/// which know the registers and signal masks that the threads had before and have again. Throws Error naming thread and
/// step if a program didn't come to its end.
std::vector<compel::BlobRun> runPrograms(compel::Injection& injection, pie::RemoteData& data,
                                         std::span<const RemoteProgram> programs);

}  // namespace criu::engine
