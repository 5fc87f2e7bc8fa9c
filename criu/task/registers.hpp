// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "criu/image/arena.hpp"
#include "images/core.fwd.hpp"

namespace compel {
class Tracee;
}

/// Conversion of a thread's CPU state between the kernel's register sets (ptrace(2)) and core images. Each architecture
/// implements this header in task/arch/.
namespace criu::task {

/// Returns the value of `mtype` in core images for this processor. criu refuses images with another value.
CoreEntry__March coreMachine() noexcept;

/// Writes the architecture's part of a thread's core. `general` contains compel::Registers, always with the 64-bit
/// layout. `extended` is the result of compel::Tracee::extendedState(). `segments` contains compel::ThreadSegments for
/// a thread of a 32-bit task (compat.hpp); it is empty for other threads.
/// Rewinds an interrupted system call, so that the restored thread repeats it. A call that can't be repeated ends with
/// EINTR.
void storeRegisters(std::span<const std::byte> general, std::span<const std::byte> segments,
                    std::span<const std::byte> extended, std::uint64_t shadowStackPointer, CoreEntry& core,
                    Arena& arena);

/// Throws Error if a thread has state of the processor that core images can't store: access to I/O ports (ioperm(2)) on
/// x86, for instance.
void refuseState(const compel::Tracee& thread);

/// Returns true if the thread belongs to a 32-bit task.
bool isCompat(const CoreEntry& core) noexcept;
/// Returns false for a core image without registers: a main thread that has ended.
[[nodiscard]] bool hasRegisters(const CoreEntry& core) noexcept;

/// Register sets that ptrace(2) writes to a restored thread.
struct RegisterSets {
    std::vector<std::byte> general;
    /// Written before the other sets; empty unless the thread belongs to a 32-bit task.
    std::vector<std::byte> segments;
    std::vector<std::byte> extended;       ///< XSAVE area with the size of this CPU; empty if the image has none
    std::uint64_t shadowStackPointer = 0;  ///< 0 if shadow stacks are disabled
};

/// Returns the register sets of an image. Throws Error if the image is of another architecture, or needs CPU state that
/// this CPU lacks.
RegisterSets loadRegisters(const CoreEntry& core);

/// Returns the address of the clear_child_tid word (set_tid_address(2)); 0 if the thread has none.
std::uint64_t clearTidAddress(const CoreEntry& core);
void setClearTidAddress(CoreEntry& core, std::uint64_t address);

}  // namespace criu::task
