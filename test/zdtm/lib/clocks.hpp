// SPDX-License-Identifier: GPL-2.0-only
// Clocks that time namespaces shift.
#pragma once

#include <cstdint>

namespace zdtm {

inline constexpr std::int64_t second = 1'000'000'000;

// Moves this process and its children to a new time namespace, whose clocks are ahead by so many seconds. Skips the
// test if the kernel has no time namespaces.
void enter_new_time(std::int64_t monotonic, std::int64_t boottime);

// Returns nanoseconds by libc, which calls the vDSO.
std::int64_t read_clock(int clock);

// Values of the clocks at construction.
class Clocks {
public:
    Clocks();

    // Requires the clocks to have advanced by less than two minutes, and system calls to agree with the vDSO.
    void check() const;

    std::int64_t monotonic() const { return monotonic_; }

private:
    std::int64_t monotonic_;
    std::int64_t boottime_;
};

}  // namespace zdtm
