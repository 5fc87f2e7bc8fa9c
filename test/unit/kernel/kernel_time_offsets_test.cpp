// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/time_offsets.hpp"

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"

using criu::kernel::ClockTime;
using criu::kernel::formatTimeOffsets;
using criu::kernel::parseTimeOffsets;
using criu::kernel::TimeOffsets;

TEST_CASE("Offsets of clocks are read by name and by number") {
    const TimeOffsets wanted{{-3, 999'999'999}, {86400, 5}};
    CHECK(parseTimeOffsets("monotonic          -3 999999999\nboottime        86400         5\n") == wanted);
    CHECK(parseTimeOffsets("1 -3 999999999\n7 86400 5\n") == wanted);
    CHECK(parseTimeOffsets(formatTimeOffsets(wanted)) == wanted);
    CHECK(parseTimeOffsets("") == TimeOffsets{});
}

TEST_CASE("Text that isn't one of offsets is refused") {
    for (const char* text : {"monotonic\n", "monotonic 1\n", "realtime 1 0\n", "monotonic 0 -1\n",
                             "boottime 0 1000000000\n", "monotonic 99999999999999999999 0\n", "\n"})
        CHECK_THROWS_AS(parseTimeOffsets(text), criu::Error);
}

TEST_CASE("Times carry between seconds and nanoseconds, also below zero") {
    const ClockTime early{1, 900'000'000};
    const ClockTime late{3, 200'000'000};
    CHECK(late - early == ClockTime{1, 300'000'000});
    CHECK(early - late == ClockTime{-2, 700'000'000});
    CHECK(early + late == ClockTime{5, 100'000'000});
    CHECK((early - late) + late == early);
    CHECK(ClockTime{1, 400'000'000} + ClockTime{1, 600'000'000} == ClockTime{3, 0});
    CHECK(ClockTime{2, 0} + ClockTime{-3, 500'000'000} == ClockTime{-1, 500'000'000});
}
