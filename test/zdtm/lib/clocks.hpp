// SPDX-License-Identifier: GPL-2.0-only
// Clocks that time namespaces shift.
#pragma once

#include <cstdint>

namespace zdtm {

inline constexpr std::int64_t second = 1'000'000'000;

// This process and its children are in a new time namespace, whose clocks are ahead of the present ones by so many
// seconds. Skips the test where there are none.
void enter_new_time(std::int64_t monotonic, std::int64_t boottime);

// Nanoseconds, by libc, which asks the vDSO.
std::int64_t read_clock(int clock);

// What the clocks showed when this was made.
class Clocks {
public:
    Clocks();

    // They have gone on since, by less than two minutes, and the kernel says the same as the vDSO.
    void check() const;

    std::int64_t monotonic() const { return monotonic_; }

private:
    std::int64_t monotonic_;
    std::int64_t boottime_;
};

}  // namespace zdtm
