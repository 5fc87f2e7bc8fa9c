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

/// A list of steps placed in a process, for one of its threads to execute.
struct RemoteProgram {
    compel::Tracee* thread = nullptr;
    std::uint64_t program = 0;   ///< address of the pie::Program in the process
    std::uint64_t steps = 0;     ///< address of its first pie::Step
    std::uint32_t count = 0;     ///< number of its steps
    std::uint64_t stackTop = 0;  ///< end of its stack, there too
};

/// How many threads execute their programs at the same time.
inline constexpr std::size_t kThreadsAtOnce = 128;

/// Puts steps, and a stack for their execution, into `data`. `thread`: may be null where only the size matters.
RemoteProgram placeProgram(pie::StepList& steps, pie::RemoteData& data, compel::Tracee* thread);

/// Writes `data` into the process, has all programs run side by side and reads `data` back. Returns the ended runs,
/// which know the registers and signal masks that the threads had before and have again. Throws Error naming thread and
/// step if a program didn't come to its end, and what `stop` throws, if given, when the user wants an end.
/// Others may write to the memory of the process meanwhile (process_vm_writev(2), shared memory), so what is read back
/// is results and nothing else: addresses and counts are those that were written.
std::vector<compel::BlobRun> runPrograms(compel::Injection& injection, pie::RemoteData& data,
                                         std::span<const RemoteProgram> programs, StopRequest* stop = nullptr);

}  // namespace criu::engine
