// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>
#include <sys/signalfd.h>

#include "zdtm.hpp"

ZDTM("a signalfd keeps its mask and returns pending signals") {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigaddset(&mask, SIGRTMAX);
    SYS(sigprocmask(SIG_BLOCK, &mask, nullptr));
    const int file = SYS(signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC));
    const std::string info = zdtm::status_field("/proc/self/fdinfo/" + std::to_string(file), "sigmask");
    SYS(sigqueue(getpid(), SIGRTMAX, {.sival_int = 42}));
    me.wait_for_check();

    CHECK(zdtm::status_field("/proc/self/fdinfo/" + std::to_string(file), "sigmask") == info, "another mask");
    signalfd_siginfo got{};
    CHECK(read(file, &got, sizeof got) == sizeof got, "%s", strerror(errno));
    CHECK(got.ssi_signo == static_cast<unsigned>(SIGRTMAX) && got.ssi_int == 42, "signal %u with %d", got.ssi_signo,
          got.ssi_int);
    CHECK(read(file, &got, sizeof got) == -1 && errno == EAGAIN, "another signal, or blocking");
    SYS(kill(getpid(), SIGUSR1));
    CHECK(read(file, &got, sizeof got) == sizeof got && got.ssi_signo == SIGUSR1, "%s", strerror(errno));
}
