// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/mm/process_vm.hpp"
#include "criu/memory/pages/drain.hpp"

namespace criu::memory {

/// Reader of pages of a process or a file. Each thread needs its own object.
class MemoryReader {
public:
    explicit MemoryReader(const DrainSource& source) noexcept : source_(source) {}

    /// Reads the ranges one after another; the size of `into` must be their total size. `shared`: for each range, true
    /// if its pages may be shared copy-on-write. Throws Error.
    ///
    /// process_vm_readv(2) is faster (6.3 against 4.5 GB/s). But it pins pages, and the kernel breaks the copy-on-write
    /// sharing of pinned pages. /proc/PID/mem keeps pages shared, and also reads memory without PROT_READ.
    void read(std::span<const kernel::RemoteRange> ranges, const std::vector<bool>& shared, std::span<std::byte> into);

private:
    void readProcess(std::span<const kernel::RemoteRange> ranges, std::span<std::byte> into);
    void readThroughMem(std::uint64_t address, std::span<std::byte> into);
    void readRunning(std::uint64_t address, std::span<std::byte> into) const;
    void readFile(std::uint64_t offset, std::span<std::byte> into) const;

    const DrainSource& source_;
    UniqueFd mem_;
};

}  // namespace criu::memory
