// SPDX-License-Identifier: GPL-2.0-only
#include "clocks.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>

#include <ctime>

#include "zdtm.hpp"

namespace zdtm {
namespace {

std::int64_t nanoseconds(const timespec& time) {
    return time.tv_sec * second + time.tv_nsec;
}

// Reads a clock by system call, not through the vDSO.
std::int64_t ask_kernel(int clock) {
    timespec time{};
    SYS(syscall(SYS_clock_gettime, clock, &time));
    return nanoseconds(time);
}

void check_one(const char* name, int clock, std::int64_t before) {
    const std::int64_t first = ask_kernel(clock);
    const std::int64_t now = read_clock(clock);
    const std::int64_t last = ask_kernel(clock);
    CHECK(first <= now && now <= last, "%s: the vDSO says %ld, the kernel %ld and %ld", name, now, first, last);
    CHECK(now >= before, "%s has gone back by %ld ns", name, before - now);
    CHECK(now - before < 120 * second, "%s has jumped by %ld ns", name, now - before);
}

}  // namespace

std::int64_t read_clock(int clock) {
    timespec time{};
    SYS(clock_gettime(clock, &time));
    return nanoseconds(time);
}

void enter_new_time(std::int64_t monotonic, std::int64_t boottime) {
    if (unshare(CLONE_NEWTIME) != 0)
        skip("no time namespaces: %s", strerror(errno));
    write_file("/proc/self/timens_offsets",
               "monotonic " + std::to_string(monotonic) + " 0\nboottime " + std::to_string(boottime) + " 0\n");
    const int space = SYS(open("/proc/self/ns/time_for_children", O_RDONLY));
    SYS(setns(space, CLONE_NEWTIME));
    SYS(close(space));
}

Clocks::Clocks() : monotonic_(read_clock(CLOCK_MONOTONIC)), boottime_(read_clock(CLOCK_BOOTTIME)) {}

void Clocks::check() const {
    check_one("the monotonic clock", CLOCK_MONOTONIC, monotonic_);
    check_one("boot time", CLOCK_BOOTTIME, boottime_);
}

}  // namespace zdtm
