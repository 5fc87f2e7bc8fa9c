// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/kernel/proc/procdir.hpp"
#include "criu/pie/program_builder.hpp"

namespace compel {
class FrozenProcess;
}

/// Functions for tasks in the processor's 32-bit mode ("compat" in the kernel), such as i386 programs on x86-64. criu
/// reads and sets some state of such tasks by 32-bit system calls, which 64-bit code can also make.
namespace criu::task {

/// System calls that have a different effect in their 32-bit form.
enum class CompatCall {
    RtSigaction,
    SetRobustList,
    GetRobustList,
};

/// Returns the number of a system call in the kernel's 32-bit table. Each architecture implements it. Throws Error on a
/// processor without 32-bit tasks.
long numberOf(CompatCall call);

/// Returns true if all threads of a frozen process run 32-bit code. Throws Error if some threads run 64-bit code, or if
/// the program isn't a 32-bit program.
bool isCompat(compel::FrozenProcess& process, const kernel::ProcPid& dir);

/// Query for private segments of a process (modify_ldt(2) of x86), which criu can't dump. Each architecture implements
/// it; it does nothing on processors without such segments.
class LocalTableQuery {
public:
    LocalTableQuery(pie::StepList& steps, pie::RemoteData& data);

    /// Throws Error if the process has segments. Called after the steps have run.
    void refuse(pie::RemoteData& answers) const;

private:
    std::uint64_t sizeAt_ = 0;
};

}  // namespace criu::task
