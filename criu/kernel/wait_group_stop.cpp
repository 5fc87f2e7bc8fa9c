// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/wait_group_stop.hpp"

#include <chrono>
#include <thread>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/kernel/proc/tasks.hpp"

namespace criu::engine {
namespace {

using Clock = std::chrono::steady_clock;

void awaitThreads(const kernel::ProcPid& process, Clock::time_point deadline) {
    constexpr auto kPause = std::chrono::microseconds(200);
    kernel::ProcBuffer buffer;
    for (const pid_t tid : kernel::readThreads(process)) {
        const kernel::ProcPid thread = process.thread(tid);
        const auto standsStill = [&] {
            const kernel::TaskState state = kernel::readStat(thread, buffer).state;
            return state == kernel::TaskState::Stopped || state == kernel::TaskState::Zombie ||
                   state == kernel::TaskState::Dead;
        };
        while (!standsStill() && Clock::now() < deadline)
            std::this_thread::sleep_for(kPause);
    }
}

}  // namespace

void waitGroupStop(std::span<const HostPid> pids) noexcept {
    const auto deadline = Clock::now() + std::chrono::seconds(1);
    for (const HostPid pid : pids) {
        try {
            awaitThreads(kernel::ProcDir().open(pid.value), deadline);
        } catch (const std::exception&) {
            continue;  // the process has ended
        }
    }
}

}  // namespace criu::engine
