// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/time_offsets.hpp"

#include <time.h>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/scan.hpp"

namespace criu::kernel {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

ClockTime normal(std::int64_t seconds, std::int64_t nanoseconds) {
    if (nanoseconds < 0)
        return {seconds - 1, nanoseconds + kSecond};
    if (nanoseconds >= kSecond)
        return {seconds + 1, nanoseconds - kSecond};
    return {seconds, nanoseconds};
}

bool isClock(std::string_view word, std::string_view name, clockid_t number) {
    return word == name || word == std::to_string(number);
}

}  // namespace

ClockTime ClockTime::of(clockid_t clock) {
    timespec time{};
    sys(::clock_gettime(clock, &time), "read clock {}", clock);
    return {time.tv_sec, time.tv_nsec};
}

ClockTime operator+(const ClockTime& a, const ClockTime& b) noexcept {
    return normal(a.seconds + b.seconds, a.nanoseconds + b.nanoseconds);
}

ClockTime operator-(const ClockTime& a, const ClockTime& b) noexcept {
    return normal(a.seconds - b.seconds, a.nanoseconds - b.nanoseconds);
}

TimeOffsets parseTimeOffsets(std::string_view text) {
    TimeOffsets offsets;
    Scanner scan(text);
    std::string_view line;
    while (scan.line(line)) {
        Scanner fields(line);
        const std::string_view clock = fields.word();
        ClockTime offset;
        fields.needNumber(offset.seconds, "the seconds of a clock's offset");
        fields.needNumber(offset.nanoseconds, "the nanoseconds of a clock's offset");
        if (offset.nanoseconds < 0 || offset.nanoseconds >= kSecond)
            fail("{} nanoseconds in a clock's offset", offset.nanoseconds);
        if (isClock(clock, "monotonic", CLOCK_MONOTONIC))
            offsets.monotonic = offset;
        else if (isClock(clock, "boottime", CLOCK_BOOTTIME))
            offsets.boottime = offset;
        else
            fail("the offset of an unknown clock {}", clock);
    }
    return offsets;
}

std::string formatTimeOffsets(const TimeOffsets& offsets) {
    return fmt::format("{} {} {}\n{} {} {}\n", CLOCK_MONOTONIC, offsets.monotonic.seconds,
                       offsets.monotonic.nanoseconds, CLOCK_BOOTTIME, offsets.boottime.seconds,
                       offsets.boottime.nanoseconds);
}

TimeOffsets readTimeOffsets(const ProcPid& process) {
    constexpr const char* kFile = "timens_offsets";
    const ErrorContext context([&] { return process.path() + '/' + kFile; });
    return parseTimeOffsets(process.readFile(kFile));
}

}  // namespace criu::kernel
