// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "criu/base/error.hpp"

namespace criu::kernel {

/// Address range in the memory of another process.
struct RemoteRange {
    std::uint64_t start = 0;
    std::uint64_t size = 0;
};

/// Result of a transfer. `code` is 0 if all bytes were transferred, or the errno. With EFAULT, the first byte that
/// wasn't transferred is unmapped or inaccessible.
struct VmTransfer {
    std::size_t bytes = 0;
    int code = 0;
};

/// Copies the ranges one after another into `local` (process_vm_readv(2)); `local` must be large enough for all ranges.
/// Continues after short transfers, and splits lists of more than 1024 ranges. Needs ptrace access. Can't read memory
/// without PROT_READ, unlike /proc/PID/mem. Never throws.
VmTransfer readMemorySome(pid_t pid, std::span<const RemoteRange> ranges, std::span<std::byte> local) noexcept;

/// Copies `local` to the ranges (process_vm_writev(2)). The pages of the ranges must be writable.
VmTransfer writeMemorySome(pid_t pid, std::span<const RemoteRange> ranges, std::span<const std::byte> local) noexcept;

/// Transfers all ranges. If this fails, throws Error with the process and the failing address.
void readMemory(pid_t pid, std::span<const RemoteRange> ranges, std::span<std::byte> local);
void readMemory(pid_t pid, std::uint64_t address, std::span<std::byte> local);
void writeMemory(pid_t pid, std::span<const RemoteRange> ranges, std::span<const std::byte> local);
void writeMemory(pid_t pid, std::uint64_t address, std::span<const std::byte> local);

}  // namespace criu::kernel
