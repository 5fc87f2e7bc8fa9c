// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

/// A point in time, or a distance, which may be negative: then the nanoseconds, 0 to 999999999, count forwards
/// nevertheless.
struct ClockTime {
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;

    /// The clock's time now, as the calling thread sees it.
    static ClockTime of(clockid_t clock);

    friend ClockTime operator+(const ClockTime& a, const ClockTime& b) noexcept;
    friend ClockTime operator-(const ClockTime& a, const ClockTime& b) noexcept;
    friend bool operator==(const ClockTime&, const ClockTime&) = default;
};

/// By how much the clocks of a time namespace are ahead of those of the machine (time_namespaces(7)).
struct TimeOffsets {
    ClockTime monotonic;
    ClockTime boottime;
    friend bool operator==(const TimeOffsets&, const TimeOffsets&) = default;
};

/// Content of /proc/PID/timens_offsets; clocks are named, or numbered as by Linux 5.6. Throws Error on other text.
[[nodiscard]] TimeOffsets parseTimeOffsets(std::string_view text);
/// What is written there.
[[nodiscard]] std::string formatTimeOffsets(const TimeOffsets& offsets);

/// Of the time namespace that a process has children in. Throws Error.
[[nodiscard]] TimeOffsets readTimeOffsets(const ProcPid& process);

}  // namespace criu::kernel
