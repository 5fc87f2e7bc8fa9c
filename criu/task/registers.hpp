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

/// The CPU state of a thread: between the kernel's register sets (as ptrace reads and writes them) and core images.
/// Each architecture implements this header in task/arch/.
namespace criu::task {

/// What `mtype` of a core image says for this processor; other images are refused.
CoreEntry__March coreMachine() noexcept;

/// Writes the architecture's part of a thread's core. `general`: the bytes of compel::Registers;
/// `extended`: those of compel::Tracee::extendedState(). A system call that was interrupted is rewound, so that it is
/// made again after restore; one that can't be made again ends with EINTR. `segments`: compel::ThreadSegments of a
/// thread of a 32-bit task (compat.hpp), empty for others; `general` has the 64-bit layout all the same.
void storeRegisters(std::span<const std::byte> general, std::span<const std::byte> segments,
                    std::span<const std::byte> extended, std::uint64_t shadowStackPointer, CoreEntry& core,
                    Arena& arena);

/// Throws Error if a thread has rights to ports of devices (ioperm(2) of x86), which core images have no place for.
void refusePortRights(const compel::Tracee& thread);

/// Whether a thread is one of a 32-bit task.
bool isCompat(const CoreEntry& core) noexcept;

/// What ptrace is to write back for a restored thread.
struct RegisterSets {
    std::vector<std::byte> general;
    std::vector<std::byte> segments;       ///< to be set before; empty but for threads of 32-bit tasks
    std::vector<std::byte> extended;       ///< sized for this CPU; empty if the image has none
    std::uint64_t shadowStackPointer = 0;  ///< 0: shadow stacks are off
};

/// Throws Error if the image is of another architecture or needs CPU state that this CPU lacks.
RegisterSets loadRegisters(const CoreEntry& core);

/// Address of the clear_child_tid word (set_tid_address), 0 if none.
std::uint64_t clearTidAddress(const CoreEntry& core);
void setClearTidAddress(CoreEntry& core, std::uint64_t address);

}  // namespace criu::task
