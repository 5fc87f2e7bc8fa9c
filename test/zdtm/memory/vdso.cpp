// SPDX-License-Identifier: GPL-2.0-only
// zdtm: not-in all-killed, dump-killed
#include <sched.h>
#include <sys/auxv.h>
#include <sys/time.h>

#include <ctime>

#include "zdtm.hpp"

namespace {
std::int64_t nanoseconds(clockid_t clock) {
    timespec time{};
    SYS(clock_gettime(clock, &time));
    return time.tv_sec * std::int64_t{1000000000} + time.tv_nsec;
}

// Makes calls that glibc serves from the vDSO.
void use() {
    for (int i = 0; i < 10000; ++i) {
        unsigned cpu = 0;
        unsigned node = 0;
        SYS(getcpu(&cpu, &node));
        timeval time{};
        SYS(gettimeofday(&time, nullptr));
        const std::int64_t real = nanoseconds(CLOCK_REALTIME);
        const std::int64_t micro = time.tv_sec * std::int64_t{1000000} + time.tv_usec;
        CHECK(cpu < 4096, "cpu %u", cpu);
        CHECK(real / 1000 - micro >= 0 && real / 1000 - micro < 60 * std::int64_t{1000000},
              "gettimeofday %ld, clock_gettime %ld", micro, real);
    }
}
}  // namespace

ZDTM("calls into the vDSO work after the restore, and clocks advance") {
    use();
    const std::int64_t monotonic = nanoseconds(CLOCK_MONOTONIC);
    const std::int64_t boot = nanoseconds(CLOCK_BOOTTIME);
    const std::int64_t coarse = nanoseconds(CLOCK_MONOTONIC_COARSE);
    me.ready();
    // Some dumps then find the program inside the vDSO.
    while (!me.triggered()) {
        use();
    }
    me.wait_trigger();

    use();
    CHECK(nanoseconds(CLOCK_MONOTONIC) > monotonic, "CLOCK_MONOTONIC went backwards");
    CHECK(nanoseconds(CLOCK_BOOTTIME) > boot, "CLOCK_BOOTTIME went backwards");
    CHECK(nanoseconds(CLOCK_MONOTONIC_COARSE) >= coarse, "CLOCK_MONOTONIC_COARSE went backwards");
    const auto* const base = reinterpret_cast<const char*>(getauxval(AT_SYSINFO_EHDR));
    CHECK(base != nullptr && memcmp(base, "\177ELF", 4) == 0, "AT_SYSINFO_EHDR does not point to the vDSO");
}
