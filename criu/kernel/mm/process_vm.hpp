// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "criu/base/error.hpp"

namespace criu::kernel {

/// A piece of another process' memory.
struct RemoteRange {
    std::uint64_t start = 0;
    std::uint64_t size = 0;
};

/// How far a transfer got. `code` is errno (EFAULT: memory not readable or not mapped at the first byte not
/// transferred), or 0 when all was.
struct VmTransfer {
    std::size_t bytes = 0;
    int code = 0;
};

/// Copies the ranges, one behind the other, into `local` (process_vm_readv(2)), going on after short transfers and
/// splitting lists longer than the kernel takes (1024). `local` must hold them all. Needs ptrace access; memory without
/// PROT_READ can't be read this way (use /proc/PID/mem). Never throws.
VmTransfer readMemorySome(pid_t pid, std::span<const RemoteRange> ranges, std::span<std::byte> local) noexcept;

/// The other direction (process_vm_writev(2)). Pages of `pid` must be writable.
VmTransfer writeMemorySome(pid_t pid, std::span<const RemoteRange> ranges, std::span<const std::byte> local) noexcept;

/// All or an Error that names the process and the address where it stopped.
void readMemory(pid_t pid, std::span<const RemoteRange> ranges, std::span<std::byte> local);
void readMemory(pid_t pid, std::uint64_t address, std::span<std::byte> local);
void writeMemory(pid_t pid, std::span<const RemoteRange> ranges, std::span<const std::byte> local);
void writeMemory(pid_t pid, std::uint64_t address, std::span<const std::byte> local);

}  // namespace criu::kernel
