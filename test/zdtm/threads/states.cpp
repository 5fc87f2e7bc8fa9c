// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("threads that compute, sleep, read a pipe and enter system calls") {
    int ends[2];
    SYS(pipe(ends));
    zdtm::Threads threads(12, [&](unsigned index, zdtm::Threads& all) {
        all.arrive();
        volatile unsigned long count = 0;
        switch (index % 4) {
            case 0:
                while (all.released() == 0) {
                    count = count + 1;
                }
                break;
            case 1:
                while (all.released() == 0) {
                    // timers/sleeps_with_limit tests that the sleep doesn't end early.
                    poll(nullptr, 0, 1);
                }
                break;
            case 2: {
                char byte = 0;
                CHECK(read(ends[0], &byte, 1) == 1 && byte == 'x', "read: %s", strerror(errno));
                break;
            }
            default:
                while (all.released() == 0) {
                    CHECK(getpid() > 0, "getpid() failed");
                }
        }
    });
    me.wait_for_check();
    CHECK(write(ends[1], "xxx", 3) == 3, "%s", strerror(errno));
    threads.finish();
}
