// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/process.hpp>

#include <cstdint>

#include "criu/kernel/procdir.hpp"
#include "criu/pie/program_builder.hpp"

/// Tasks of the processor's 32-bit mode ("compat" for the kernel): i386 programs on x86-64. Everything about them that
/// differs from other tasks is asked for and set with system calls of their own, which 64-bit code can make too.
namespace criu::task {

/// First address that a 32-bit task can't use, whatever the machine.
inline constexpr std::uint64_t kCompatLimit = 0x100000000;

/// Numbers of 32-bit system calls (arch/x86/entry/syscalls/syscall_32.tbl).
enum class CompatCall : long {
    RtSigaction = 174,
    SetRobustList = 311,
    GetRobustList = 312,
};

/// Whether all threads of a stopped process run 32-bit code. Throws Error for processes of both kinds of code: a thread
/// of another kind than its fellows, or than the program it runs.
bool isCompat(compel::FrozenProcess& process, const kernel::ProcPid& dir);

/// Asks a process for segments of its own (modify_ldt(2)), which can't be dumped.
class LocalTableQuery {
public:
    LocalTableQuery(pie::StepList& steps, pie::RemoteData& data);

    /// After the run: throws Error if there are some.
    void refuse(pie::RemoteData& answers) const;

private:
    std::uint64_t sizeAt_;
};

}  // namespace criu::task
