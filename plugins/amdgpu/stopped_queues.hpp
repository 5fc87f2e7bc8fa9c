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

/// Processes whose queues a dump has stopped, in memory that the process which dumps shares with the one that watches
/// it: to be known when the former is killed.
class StoppedQueues {
public:
    StoppedQueues();

    /// Before the queues are stopped, by the process' descriptor `fd` of the compute driver. What finds no room isn't
    /// remembered.
    void add(HostPid pid, int fd) noexcept;
    /// All queues go on, or their processes are gone.
    void clear() noexcept;
    /// The last one that was added isn't stopped after all.
    void removeLast() noexcept;

    /// In the watching process: the queues that are still stopped go on. The log is told what fails.
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
