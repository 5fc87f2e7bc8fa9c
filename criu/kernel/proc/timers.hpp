// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

/// POSIX timer, as /proc/PID/timers shows it (proc_pid_timers(5)). The remaining time isn't there, because only the
/// task itself can read it (timer_gettime(2)).
struct PosixTimer {
    /// Id that timer_create(2) returned.
    std::int32_t id = 0;
    /// Signal that the timer sends (sigev_signo).
    int signal = 0;
    /// Value that the signal carries (sigev_value).
    std::uint64_t value = 0;
    /// SIGEV_SIGNAL, SIGEV_NONE or SIGEV_THREAD; or'ed with SIGEV_THREAD_ID if the timer notifies one thread.
    int notify = 0;
    /// With SIGEV_THREAD_ID, the tid of the notified thread; without, the pid of the process. Both are ids in the pid
    /// namespace of the /proc mount.
    pid_t target = 0;
    /// CLOCK_… number; negative for CPU clocks.
    std::int32_t clock = 0;
};

/// True for clocks whose timers wake a suspended machine. timer_create(2) requires CAP_WAKE_ALARM for them.
[[nodiscard]] constexpr bool isAlarmClock(std::int32_t clock) noexcept {
    return clock == CLOCK_REALTIME_ALARM || clock == CLOCK_BOOTTIME_ALARM;
}

/// Parses the timers. The kernel doesn't always list them in the order of creation.
[[nodiscard]] std::vector<PosixTimer> parseTimers(std::string_view text);
[[nodiscard]] std::vector<PosixTimer> readTimers(const ProcPid& process, ProcBuffer& buffer);

}  // namespace criu::kernel
