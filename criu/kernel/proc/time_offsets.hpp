// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

/// Point in time or time difference. A difference may be negative. `nanoseconds` is from 0 to 999999999, also for
/// negative `seconds`.
struct ClockTime {
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;

    /// Returns the current time of the clock in the calling thread's time namespace.
    static ClockTime of(clockid_t clock);

    friend ClockTime operator+(const ClockTime& a, const ClockTime& b) noexcept;
    friend ClockTime operator-(const ClockTime& a, const ClockTime& b) noexcept;
    friend bool operator==(const ClockTime&, const ClockTime&) = default;
};

/// Offsets of the clocks in a time namespace, relative to the clocks of the machine (time_namespaces(7)).
struct TimeOffsets {
    ClockTime monotonic;
    ClockTime boottime;
    friend bool operator==(const TimeOffsets&, const TimeOffsets&) = default;
};

/// Parses /proc/PID/timens_offsets. The file contains clock names; in Linux 5.6, clock numbers. Throws Error on other
/// text.
[[nodiscard]] TimeOffsets parseTimeOffsets(std::string_view text);
/// Returns the text to write to /proc/PID/timens_offsets.
[[nodiscard]] std::string formatTimeOffsets(const TimeOffsets& offsets);

/// Reads the offsets of the time namespace for children of a process. Throws Error.
[[nodiscard]] TimeOffsets readTimeOffsets(const ProcPid& process);

}  // namespace criu::kernel
