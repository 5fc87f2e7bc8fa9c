// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/kernel/proc/procdir.hpp"
#include "criu/pie/program_builder.hpp"

namespace compel {
class FrozenProcess;
}

/// Tasks of the processor's 32-bit mode ("compat" for the kernel), such as i386 programs on x86-64. Everything about
/// them that differs from other tasks is asked for and set with 32-bit system calls, which 64-bit code can make too.
namespace criu::task {

/// System calls whose 32-bit form sets or shows something else than the 64-bit form does.
enum class CompatCall {
    RtSigaction,
    SetRobustList,
    GetRobustList,
};

/// Architecture: the number of a system call in the table of 32-bit ones. Throws Error on a processor that has no
/// 32-bit tasks.
long numberOf(CompatCall call);

/// Whether all threads of a stopped process run 32-bit code. Throws Error for processes of both kinds of code: a thread
/// of another kind than its fellows, or than the program it runs.
bool isCompat(compel::FrozenProcess& process, const kernel::ProcPid& dir);

/// Architecture: asks a process for segments of its own (modify_ldt(2) of x86), which can't be dumped. Where processors
/// have none, nothing is asked.
class LocalTableQuery {
public:
    LocalTableQuery(pie::StepList& steps, pie::RemoteData& data);

    /// After the run: throws Error if there are some.
    void refuse(pie::RemoteData& answers) const;

private:
    std::uint64_t sizeAt_ = 0;
};

}  // namespace criu::task
