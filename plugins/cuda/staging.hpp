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

/// Watch that makes checkpoints faster: it prepares the staging mapping, the memory to which the driver's thread copies
/// device contents.
///
/// With driver 580, this thread makes one private mapping for all contents near the beginning of a checkpoint, by its
/// 43rd system call. The thread uses MAP_POPULATE, so the kernel fills small pages on one core at 2 GB/s. This takes
/// two thirds of the checkpoint's time.
///
/// The watch removes the flag, and makes the thread request huge pages. Threads of criu fill the pages on all cores
/// before the driver's thread continues. They place the pages on the NUMA nodes that the driver's thread would use.
class StagingMonitor final : public compel::SystemCallWatch {
public:
    /// `log` must outlive this object.
    StagingMonitor(HostPid pid, Log& log) noexcept : pid_(pid), log_(log) {}

    void enter(compel::Tracee& thread) override;
    [[nodiscard]] bool leave(compel::Tracee& thread) override;

    /// Returns the size of the staging mapping in bytes; 0 if the thread hasn't made a staging mapping.
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

private:
    void wantHugePages(compel::Tracee& thread, std::uint64_t start) const;
    [[nodiscard]] std::optional<kernel::MemoryPolicy> placement(compel::Tracee& thread, std::uint64_t start) const;
    void makePages(std::uint64_t start, const std::optional<kernel::MemoryPolicy>& placement) const noexcept;

    HostPid pid_;
    Log& log_;
    /// Size in bytes of the mapping that the current mmap(2) call requests; 0 in other calls.
    std::uint64_t asked_ = 0;
    std::uint64_t size_ = 0;
    int calls_ = 0;
};

}  // namespace criu::cuda
