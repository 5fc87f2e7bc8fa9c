// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>

#include "patience.hpp"
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("O_ASYNC, F_SETOWN and F_SETSIG of a socket") {
    const zdtm::Pair pair = zdtm::make_pair_of(SOCK_STREAM);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    SYS(sigprocmask(SIG_BLOCK, &mask, nullptr));
    SYS(fcntl(pair.one, F_SETOWN, getpid()));
    SYS(fcntl(pair.one, F_SETSIG, SIGUSR1));
    SYS(fcntl(pair.one, F_SETFL, O_NONBLOCK | O_ASYNC));
    me.wait_for_check();

    CHECK(fcntl(pair.one, F_GETOWN) == getpid(), "the owner is %d", fcntl(pair.one, F_GETOWN));
    zdtm::send_message(pair.other, "x");
    const timespec limit{zdtm::kPatience / 1000, 0};
    siginfo_t info{};
    CHECK(sigtimedwait(&mask, &info, &limit) == SIGUSR1, "no signal: %s", strerror(errno));
    CHECK(info.si_fd == pair.one, "for fd %d", info.si_fd);
}
