// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

/// The engine that moves bulk data, with every core: jobs of {file range, memory}. Used for private memory, shared
/// memory and memfds alike, on dump and on restore.
namespace criu::memory {

/// Consecutive bytes of a file that belong at an address.
struct FillJob {
    std::uint64_t fileOffset = 0;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
};

/// Reads all jobs from `fd` (positioned reads) into this process' memory. `jobs` ascend in the file. Large totals are
/// spread over threads, which have all ended when this returns.
void fillMemory(int fd, std::span<const FillJob> jobs);

/// One run of a process' pages that goes into a pages file.
struct DrainJob {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t fileOffset = 0;
};

/// What writing pages needs from the caller.
struct DrainTarget {
    int pagesFd = -1;          ///< the pages file
    pid_t pid = 0;             ///< whose memory
    int memFd = -1;            ///< /proc/PID/mem: for pages that process_vm_readv can't read (no PROT_READ)
    std::function<void(std::uint64_t)> progress;  ///< called with bytes done; from any thread; may be empty
    std::function<bool()> stopWanted;             ///< asked now and then; true ends with an Error; may be empty
};

/// Copies memory of a stopped process into its pages file, in large blocks, by as many threads as pay off. Blocks of zeroes
/// become holes.
void drainMemory(const DrainTarget& target, std::span<const DrainJob> jobs);

/// Bytes below which threads cost more than they bring.
inline constexpr std::uint64_t kWorthThreads = std::uint64_t{16} << 20;

}  // namespace criu::memory
