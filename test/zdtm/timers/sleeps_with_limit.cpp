// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it ends such calls with EINTR, though no handler ran
// zdtm: modes once
// zdtm: not-in all-killed, dump-killed, pre-dump-killed, restore-killed, restore-all-killed
// Runs once: a sleep that is interrupted twice ends with EINTR. An absolute limit may be over at a later restore.
#include <linux/futex.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/syscall.h>

#include <ctime>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
constexpr int seconds = 4;  // enough for all threads to sleep during the comparison
constexpr int milliseconds = seconds * 1000;

std::int64_t now() {
    timespec time{};
    SYS(clock_gettime(CLOCK_MONOTONIC, &time));
    return time.tv_sec * std::int64_t{1000} + time.tv_nsec / 1000000;
}
}  // namespace

ZDTM("calls with a time limit (nanosleep, poll, select, futex) sleep until it and don't return EINTR") {
    int ends[2];
    SYS(pipe(ends));
    const std::atomic<int> word{0};
    zdtm::Threads threads(6, [&](unsigned index, zdtm::Threads& all) {
        const timespec interval{seconds, 0};
        const std::int64_t start = now();
        all.arrive();
        pollfd entry{ends[0], POLLIN, 0};
        fd_set set;
        FD_ZERO(&set);
        FD_SET(ends[0], &set);
        long got = 0;
        switch (index) {
            case 0:
                got = nanosleep(&interval, nullptr);
                break;
            case 1:
                got = poll(&entry, 1, milliseconds);
                break;
            case 2:
                got = ppoll(&entry, 1, &interval, nullptr);
                break;
            case 3: {
                timeval limit{seconds, 0};
                got = select(ends[0] + 1, &set, nullptr, nullptr, &limit);
                break;
            }
            case 4: {
                timespec until{};
                SYS(clock_gettime(CLOCK_MONOTONIC, &until));
                until.tv_sec += seconds + 1;
                const int error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
                CHECK(error == 0, "clock_nanosleep: %s", strerror(error));
                break;
            }
            default:
                got = syscall(SYS_futex, &word, FUTEX_WAIT, 0, &interval, nullptr, 0);
                CHECK(got == -1 && errno == ETIMEDOUT, "futex: %s", strerror(errno));
                got = 0;
        }
        CHECK(got == 0, "sleeper %u: %ld, %s", index, got, strerror(errno));
        const std::int64_t slept = now() - start;
        CHECK(slept >= milliseconds - 1, "sleeper %u woke up after %ld ms", index, slept);
    });
    me.wait_for_check();
    threads.finish();
}
