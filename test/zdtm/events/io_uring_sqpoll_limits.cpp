// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it knows no io_uring
// zdtm: ignore thread .*, fd \d+ (SqThread|SqThreadCpu|SqTotalTime|SqWorkTime)
// The restored ring has another kernel thread.
#include <sys/resource.h>
#include <sys/syscall.h>

#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("io_uring: a ring with a kernel thread has a descriptor above the limit of open files") {
    constexpr int above = 100;
    zdtm::Ring ring(4, IORING_SETUP_SQPOLL);
    SYS(dup2(ring.fd(), above));
    const rlimit limit{50, 60};
    SYS(setrlimit(RLIMIT_NOFILE, &limit));
    ring.spin(5);
    me.wait_for_check();

    ring.spin(5);
    SYS(syscall(SYS_io_uring_enter, above, 0, 0, IORING_ENTER_SQ_WAKEUP, nullptr, std::size_t{0}));
    rlimit found{};
    SYS(getrlimit(RLIMIT_NOFILE, &found));
    CHECK(found.rlim_cur == limit.rlim_cur && found.rlim_max == limit.rlim_max, "the limit is %llu",
          static_cast<unsigned long long>(found.rlim_cur));
}
