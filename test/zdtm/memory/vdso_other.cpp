// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes other-vdso
// zdtm: ignore map .*
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

void use() {
    for (int i = 0; i < 1000; ++i) {
        const std::int64_t before = nanoseconds(CLOCK_REALTIME);
        timeval time{};
        SYS(gettimeofday(&time, nullptr));
        const std::int64_t micro = time.tv_sec * std::int64_t{1000000} + time.tv_usec;
        const std::int64_t after = nanoseconds(CLOCK_REALTIME);
        CHECK(before / 1000 <= micro && micro <= after / 1000, "gettimeofday %ld is not within %ld-%ld", micro, before,
              after);
        const std::int64_t seconds = ::time(nullptr);
        CHECK(seconds - before / 1000000000 >= -1 && seconds - after / 1000000000 <= 1, "time %ld", seconds);
        timespec resolution{};
        SYS(clock_getres(CLOCK_MONOTONIC, &resolution));
        CHECK(resolution.tv_sec == 0 && resolution.tv_nsec > 0, "clock_getres %ld", resolution.tv_nsec);
        unsigned cpu = 0;
        unsigned node = 0;
        SYS(getcpu(&cpu, &node));
        CHECK(cpu < 4096, "cpu %u", cpu);
    }
}
}  // namespace

ZDTM("a process keeps the vDSO code of its dump on a kernel with another vDSO") {
    use();
    std::int64_t last = nanoseconds(CLOCK_MONOTONIC);
    me.ready();
    while (!me.triggered()) {
        use();
        const std::int64_t now = nanoseconds(CLOCK_MONOTONIC);
        CHECK(now >= last, "CLOCK_MONOTONIC went backwards");
        last = now;
    }
    me.wait_trigger();
    use();
    const auto* const base = reinterpret_cast<const char*>(getauxval(AT_SYSINFO_EHDR));
    CHECK(base != nullptr && memcmp(base, "\177ELF", 4) == 0, "AT_SYSINFO_EHDR does not point to the vDSO");
}
