// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, leave-running
// zdtm: fails-with-4.2 it ends such calls with EINTR, though no handler ran
// zdtm: not-in all-killed, dump-killed, pre-dump-killed, restore-killed, restore-all-killed
// Runs once: a sleep that is interrupted twice ends with EINTR.
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>

#include <ctime>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
constexpr int seconds = 4;

// Calls the kernel by int $0x80, as old programs do, and not through the vDSO.
long trap(long number, long first, long second) {
    long result = number;
    asm volatile("int $0x80" : "+a"(result) : "b"(first), "c"(second), "d"(0), "S"(0) : "memory");
    return result;
}

std::int64_t now() {
    timespec time{};
    SYS(clock_gettime(CLOCK_MONOTONIC, &time));
    return time.tv_sec * std::int64_t{1000} + time.tv_nsec / 1000000;
}
}  // namespace

ZDTM("32-bit calls with a time limit (nanosleep, poll, futex, select) sleep until the limit") {
    const std::atomic<int> word{0};
    zdtm::Threads threads(4, [&](unsigned index, zdtm::Threads& all) {
        struct {
            long seconds, nanoseconds;
        } interval{seconds, 0};
        const std::int64_t start = now();
        all.arrive();
        long got = 0;
        switch (index) {
            case 0:
                got = trap(SYS_nanosleep, reinterpret_cast<long>(&interval), 0);
                break;
            case 1:
                got = poll(nullptr, 0, seconds * 1000);
                break;
            case 2:
                got = syscall(SYS_futex, &word, FUTEX_WAIT, 0, &interval, nullptr, 0);
                CHECK(got == -1 && errno == ETIMEDOUT, "futex: %s", strerror(errno));
                got = 0;
                break;
            default:
                timeval limit{seconds, 0};
                got = select(0, nullptr, nullptr, nullptr, &limit);
        }
        CHECK(got == 0, "sleeper %u: %ld, %s", index, got, strerror(errno));
        const std::int64_t slept = now() - start;
        CHECK(slept >= seconds * 1000 - 1, "sleeper %u woke up after %lld ms", index, static_cast<long long>(slept));
    });
    me.wait_for_check();
    threads.finish();
}
