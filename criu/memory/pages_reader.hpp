// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/process_vm.hpp"
#include "criu/memory/bulk.hpp"

namespace criu::memory {

/// Gathers pages of a process or a file. One per thread.
class PagesReader {
public:
    explicit PagesReader(const DrainSource& source) noexcept : source_(source) {}

    /// Reads the ranges, one behind the other; `into` has room for exactly them. Throws Error.
    void read(std::span<const kernel::RemoteRange> ranges, std::span<std::byte> into);

private:
    /// process_vm_readv(2) pins pages, and pinning a page that is shared copy-on-write makes the kernel copy it for the
    /// process that is read: it would end the sharing. Such pages are read through /proc/PID/mem instead.
    void readApart(std::span<const kernel::RemoteRange> ranges, std::span<std::byte> into);
    void readProcess(std::span<const kernel::RemoteRange> ranges, std::span<std::byte> into);
    void readThroughMem(std::uint64_t address, std::span<std::byte> into);
    void readFile(std::uint64_t offset, std::span<std::byte> into) const;

    const DrainSource& source_;
    UniqueFd mem_;
    UniqueFd pagemap_;
    std::vector<std::uint64_t> entries_;
};

}  // namespace criu::memory
