// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "criu/base/ids.hpp"
#include "criu/base/mapping.hpp"

namespace criu {
class Log;
}

namespace criu::amdgpu {

class Kernel;

/// List of processes whose queues a dump has stopped. Working process and guardian share the memory of the list: if the
/// working process is killed, the guardian starts the queues.
class StoppedQueues {
public:
    StoppedQueues();

    /// Adds a process. Call it before the queues are stopped. `fd`: number of the descriptor of /dev/kfd in the
    /// process. Does nothing if the list contains kMost processes.
    void add(HostPid pid, int fd) noexcept;
    /// Removes all processes: their queues run again, or they have ended.
    void clear() noexcept;
    /// Removes the process that was added last, because its queues aren't stopped.
    void removeLast() noexcept;

    /// Called in the guardian: starts all queues that are still stopped. Logs failures.
    void startAll(Kernel& kernel, Log& log) noexcept;

private:
    static constexpr std::uint32_t kMost = 4000;
    struct Entry {
        pid_t pid = 0;
        int fd = -1;
    };
    struct Page {
        std::atomic<std::uint32_t> count{0};
        std::array<Entry, kMost> entries{};
    };
    [[nodiscard]] Page& page() const noexcept;

    Mapping memory_;
};

}  // namespace criu::amdgpu
