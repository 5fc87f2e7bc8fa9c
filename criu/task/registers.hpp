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

/// The CPU state of a thread: conversion between the kernel's register sets, as ptrace(2) has them, and core images.
/// Each architecture implements this header in task/arch/.
namespace criu::task {

/// Returns `mtype` of core images for this processor. Images with another value are refused.
CoreEntry__March coreMachine() noexcept;

/// Writes the architecture's part of a thread's core. `general`: bytes of compel::Registers; `extended`: result of
/// compel::Tracee::extendedState(). Rewinds an interrupted system call, so that it is restarted after the restore; a
/// call that can't be restarted ends with EINTR. `segments`: compel::ThreadSegments of a thread of a 32-bit task
/// (compat.hpp), empty for others. `general` always has the 64-bit layout.
void storeRegisters(std::span<const std::byte> general, std::span<const std::byte> segments,
                    std::span<const std::byte> extended, std::uint64_t shadowStackPointer, CoreEntry& core,
                    Arena& arena);

/// Throws Error if a thread has access to I/O ports (ioperm(2) of x86), which core images can't contain.
void refusePortRights(const compel::Tracee& thread);

/// True for a thread of a 32-bit task.
bool isCompat(const CoreEntry& core) noexcept;

/// Register sets that ptrace(2) writes to a restored thread.
struct RegisterSets {
    std::vector<std::byte> general;
    std::vector<std::byte> segments;       ///< set first; empty except for threads of 32-bit tasks
    std::vector<std::byte> extended;       ///< sized for this CPU; empty if the image has none
    std::uint64_t shadowStackPointer = 0;  ///< 0: shadow stacks are off
};

/// Throws Error if the image is of another architecture or needs CPU state that this CPU lacks.
RegisterSets loadRegisters(const CoreEntry& core);

/// Returns the address of the clear_child_tid word (set_tid_address(2)); 0 if there is none.
std::uint64_t clearTidAddress(const CoreEntry& core);
void setClearTidAddress(CoreEntry& core, std::uint64_t address);

}  // namespace criu::task
