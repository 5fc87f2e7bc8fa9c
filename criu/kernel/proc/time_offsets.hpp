// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

/// Point in time, or a distance, which may be negative. The nanoseconds, 0 to 999999999, always count forwards.
struct ClockTime {
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;

    /// Returns the clock's current time in the calling thread's time namespace.
    static ClockTime of(clockid_t clock);

    friend ClockTime operator+(const ClockTime& a, const ClockTime& b) noexcept;
    friend ClockTime operator-(const ClockTime& a, const ClockTime& b) noexcept;
    friend bool operator==(const ClockTime&, const ClockTime&) = default;
};

/// Offsets of a time namespace's clocks to those of the machine (time_namespaces(7)).
struct TimeOffsets {
    ClockTime monotonic;
    ClockTime boottime;
    friend bool operator==(const TimeOffsets&, const TimeOffsets&) = default;
};

/// Parses /proc/PID/timens_offsets. Clocks have names, or numbers in Linux 5.6. Throws Error on other text.
[[nodiscard]] TimeOffsets parseTimeOffsets(std::string_view text);
/// Returns the text to write to that file.
[[nodiscard]] std::string formatTimeOffsets(const TimeOffsets& offsets);

/// Reads the offsets of the time namespace of a process' children. Throws Error.
[[nodiscard]] TimeOffsets readTimeOffsets(const ProcPid& process);

}  // namespace criu::kernel
