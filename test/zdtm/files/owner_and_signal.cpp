// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/stat.h>

#include "patience.hpp"
#include "zdtm.hpp"

namespace {
f_owner_ex owner(int fd) {
    f_owner_ex now{};
    SYS(fcntl(fd, F_GETOWN_EX, &now));
    return now;
}
}  // namespace

ZDTM("the owner and the signal of input notification (F_SETOWN, F_SETSIG, O_ASYNC)") {
    int ends[2];
    SYS(pipe2(ends, O_NONBLOCK));
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 3);
    SYS(sigprocmask(SIG_BLOCK, &set, nullptr));
    const f_owner_ex self{F_OWNER_PID, getpid()};
    SYS(fcntl(ends[0], F_SETOWN_EX, &self));
    SYS(fcntl(ends[0], F_SETSIG, SIGRTMIN + 3));
    SYS(fcntl(ends[0], F_SETFL, O_NONBLOCK | O_ASYNC));
    const f_owner_ex group{F_OWNER_PGRP, getpgrp()};
    SYS(fcntl(ends[1], F_SETOWN_EX, &group));
    // Two open file descriptions of a fifo with equal flags and different owners.
    SYS(mkfifo("fifo", 0600));
    const int first = SYS(open("fifo", O_RDWR));
    const int second = SYS(open("fifo", O_RDWR));
    SYS(fcntl(first, F_SETOWN_EX, &self));
    SYS(fcntl(first, F_SETSIG, SIGRTMIN + 4));
    SYS(fcntl(second, F_SETOWN_EX, &group));
    me.wait_for_check();

    CHECK(owner(first).type == F_OWNER_PID && owner(first).pid == getpid(), "owner %d", owner(first).pid);
    CHECK(fcntl(first, F_GETSIG) == SIGRTMIN + 4, "signal %d", fcntl(first, F_GETSIG));
    CHECK(owner(second).type == F_OWNER_PGRP && owner(second).pid == getpgrp(), "owner %d", owner(second).pid);
    CHECK(owner(ends[0]).type == F_OWNER_PID && owner(ends[0]).pid == getpid(), "owner %d", owner(ends[0]).pid);
    CHECK(owner(ends[1]).type == F_OWNER_PGRP && owner(ends[1]).pid == getpgrp(), "owner %d", owner(ends[1]).pid);
    CHECK(fcntl(ends[0], F_GETSIG) == SIGRTMIN + 3, "signal %d", fcntl(ends[0], F_GETSIG));
    CHECK((fcntl(ends[0], F_GETFL) & O_ASYNC) != 0, "O_ASYNC was lost");
    CHECK(write(ends[1], "x", 1) == 1, "%s", strerror(errno));
    siginfo_t info{};
    const timespec limit{zdtm::kPatience / 1000, 0};
    CHECK(sigtimedwait(&set, &info, &limit) == SIGRTMIN + 3 && info.si_fd == ends[0], "no signal: %s", strerror(errno));
}
