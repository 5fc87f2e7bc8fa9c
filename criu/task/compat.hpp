// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/kernel/proc/procdir.hpp"
#include "criu/pie/program_builder.hpp"

namespace compel {
class FrozenProcess;
}

/// Tasks in the processor's 32-bit mode ("compat" in the kernel), such as i386 programs on x86-64. State that differs
/// from other tasks' is read and set by 32-bit system calls, which 64-bit code can make, too.
namespace criu::task {

/// System calls whose 32-bit form has another effect than the 64-bit form.
enum class CompatCall {
    RtSigaction,
    SetRobustList,
    GetRobustList,
};

/// Architecture: returns the number of a system call in the 32-bit table. Throws Error on a processor without 32-bit
/// tasks.
long numberOf(CompatCall call);

/// True if all threads of a stopped process run 32-bit code. Throws Error if threads differ from each other or from the
/// program.
bool isCompat(compel::FrozenProcess& process, const kernel::ProcPid& dir);

/// Architecture: queries a process for private segments (modify_ldt(2) of x86), which can't be dumped. Does nothing on
/// processors without them.
class LocalTableQuery {
public:
    LocalTableQuery(pie::StepList& steps, pie::RemoteData& data);

    /// Called after the run: throws Error if there are segments.
    void refuse(pie::RemoteData& answers) const;

private:
    std::uint64_t sizeAt_ = 0;
};

}  // namespace criu::task
