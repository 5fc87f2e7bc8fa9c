// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

/// POSIX timer as /proc/PID/timers shows it (proc_pid_timers(5)). Only the task itself can read its time
/// (timer_gettime(2)).
struct PosixTimer {
    /// Id that timer_create(2) returned.
    std::int32_t id = 0;
    /// sigev_signo.
    int signal = 0;
    /// sigev_value.
    std::uint64_t value = 0;
    /// SIGEV_SIGNAL, SIGEV_NONE, SIGEV_THREAD, or'ed with SIGEV_THREAD_ID if a thread is notified.
    int notify = 0;
    /// Thread notified with SIGEV_THREAD_ID, else the process; in the pid namespace of the /proc mount.
    pid_t target = 0;
    /// CLOCK_…; negative for CPU clocks.
    std::int32_t clock = 0;
};

/// Parses the timers in the kernel's order, which isn't always that of creation.
[[nodiscard]] std::vector<PosixTimer> parseTimers(std::string_view text);
[[nodiscard]] std::vector<PosixTimer> readTimers(const ProcPid& process, ProcBuffer& buffer);

}  // namespace criu::kernel
