// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "criu/base/error.hpp"

namespace criu::kernel {

/// Range of another process' memory.
struct RemoteRange {
    std::uint64_t start = 0;
    std::uint64_t size = 0;
};

/// Result of a transfer. `code` is 0 if it is complete, else errno. EFAULT: the first byte not transferred is
/// unmapped or unreadable.
struct VmTransfer {
    std::size_t bytes = 0;
    int code = 0;
};

/// Copies the ranges one after another into `local` (process_vm_readv(2)). Repeats short transfers, and splits lists
/// of more than 1024 ranges. `local` must hold all ranges.
/// Needs ptrace access. Memory without PROT_READ needs /proc/PID/mem instead. Never throws.
VmTransfer readMemorySome(pid_t pid, std::span<const RemoteRange> ranges, std::span<std::byte> local) noexcept;

/// Copies `local` to the ranges (process_vm_writev(2)). Their pages must be writable.
VmTransfer writeMemorySome(pid_t pid, std::span<const RemoteRange> ranges, std::span<const std::byte> local) noexcept;

/// Transfer everything, or throw an Error with the process and the failing address.
void readMemory(pid_t pid, std::span<const RemoteRange> ranges, std::span<std::byte> local);
void readMemory(pid_t pid, std::uint64_t address, std::span<std::byte> local);
void writeMemory(pid_t pid, std::span<const RemoteRange> ranges, std::span<const std::byte> local);
void writeMemory(pid_t pid, std::uint64_t address, std::span<const std::byte> local);

}  // namespace criu::kernel
