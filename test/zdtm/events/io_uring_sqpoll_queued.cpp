// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it knows no io_uring
// zdtm: ignore thread .*, fd \d+ (\d+|SQEs|CQEs|SqHead|CachedSqHead|CqTail|CachedCqTail|SqThread|SqThreadCpu|SqTotalTime|SqWorkTime)
// criu wakes the kernel thread, which takes the requests; the restored ring has another kernel thread.
#include <sys/syscall.h>

#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("io_uring: a program has passed requests to a kernel thread that sleeps, and hasn't woken it yet") {
    io_uring_params wanted{};
    wanted.flags = IORING_SETUP_SQPOLL;
    wanted.sq_thread_idle = 1;  // milliseconds
    zdtm::Ring ring(8, wanted);
    ring.spin(13);
    while (!ring.sleeps())
        usleep(1000);
    for (unsigned i = 0; i < 5; ++i)
        ring.queue(IORING_OP_NOP, i);
    me.wait_for_check();
    ring.submit(5);
    for (unsigned i = 0; i < 5; ++i)
        CHECK(ring.take(i) == 0, "request %u", i);
    CHECK(ring.waiting() == 0, "%u completions too many", ring.waiting());
    ring.spin(20);
}
