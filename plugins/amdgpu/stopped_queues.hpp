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

/// Processes whose queues a dump has stopped. The working process shares this memory with the guardian, which needs it
/// if the working process is killed.
class StoppedQueues {
public:
    StoppedQueues();

    /// Records a process before its queues are stopped. `fd`: number of /dev/kfd in the process. Does nothing if kMost
    /// processes are recorded.
    void add(HostPid pid, int fd) noexcept;
    /// Forgets all processes: their queues run again, or they have ended.
    void clear() noexcept;
    /// Forgets the process that was recorded last, because its queues aren't stopped.
    void removeLast() noexcept;

    /// Starts the queues that are still stopped, in the guardian. Logs failures.
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
