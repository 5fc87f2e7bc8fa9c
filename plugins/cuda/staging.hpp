// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/single_thread_run.hpp>

#include <cstdint>
#include <optional>

#include "criu/base/ids.hpp"
#include "criu/kernel/mm/memory_policy.hpp"

namespace criu {
class Log;
}

namespace criu::cuda {

/// Helps the driver's thread in a process with the memory that it copies device contents into.
///
/// Seen with driver 580: near the beginning of a checkpoint, at its 43rd system call, that thread makes one private
/// mapping for all contents, with MAP_POPULATE. The kernel fills it with small pages by one core, 2 GB/s, which is two
/// thirds of what the checkpoint takes. So that flag is taken from the call, the mapping gets huge pages, and all cores
/// make them before the thread goes on. They lie on the NUMA nodes where that thread would have them.
class StagingMonitor final : public compel::SystemCallWatch {
public:
    /// Of process `pid`. `log` outlives this object.
    StagingMonitor(HostPid pid, Log& log) noexcept : pid_(pid), log_(log) {}

    void enter(compel::Tracee& thread) override;
    [[nodiscard]] bool leave(compel::Tracee& thread) override;

    /// Bytes of the mapping; 0 if none was seen.
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

private:
    void wantHugePages(compel::Tracee& thread, std::uint64_t start) const;
    [[nodiscard]] std::optional<kernel::MemoryPolicy> placement(compel::Tracee& thread, std::uint64_t start) const;
    void makePages(std::uint64_t start, const std::optional<kernel::MemoryPolicy>& placement) const noexcept;

    HostPid pid_;
    Log& log_;
    std::uint64_t asked_ = 0;  ///< bytes of the mapping that is being made; 0: none
    std::uint64_t size_ = 0;
    int calls_ = 0;
};

}  // namespace criu::cuda
