// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

ZDTM("pending signals of a process keep order, count and siginfo") {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGINT);
    for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) {
        sigaddset(&set, number);
    }
    SYS(sigprocmask(SIG_BLOCK, &set, nullptr));
    // Real-time signals queue. Standard signals merge.
    constexpr int turns = 10;
    for (int i = 0; i < turns; ++i) {
        SYS(sigqueue(getpid(), SIGRTMIN + 2, sigval{.sival_int = 100 + i}));
        SYS(sigqueue(getpid(), SIGRTMAX, sigval{.sival_int = 200 + i}));
    }
    SYS(sigqueue(getpid(), SIGUSR1, sigval{.sival_int = 1}));
    SYS(sigqueue(getpid(), SIGUSR1, sigval{.sival_int = 2}));
    SYS(kill(getpid(), SIGINT));
    me.wait_for_check();

    siginfo_t info{};
    const timespec now{};
    const auto take = [&](int number) {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, number);
        return sigtimedwait(&one, &info, &now) == number;
    };
    CHECK(take(SIGINT) && info.si_code == SI_USER && info.si_pid == getpid(), "SIGINT: code %d from %d", info.si_code,
          info.si_pid);
    CHECK(take(SIGUSR1) && info.si_code == SI_QUEUE && info.si_value.sival_int == 1, "SIGUSR1: code %d, value %d",
          info.si_code, info.si_value.sival_int);
    for (int i = 0; i < turns; ++i) {
        CHECK(take(SIGRTMIN + 2) && info.si_value.sival_int == 100 + i, "turn %d: value %d", i,
              info.si_value.sival_int);
        CHECK(info.si_code == SI_QUEUE && info.si_pid == getpid() && info.si_uid == getuid(), "from %d", info.si_pid);
        CHECK(take(SIGRTMAX) && info.si_value.sival_int == 200 + i, "turn %d: value %d", i, info.si_value.sival_int);
    }
    sigset_t left;
    SYS(sigpending(&left));
    for (int number = 1; number <= SIGRTMAX; ++number) {
        CHECK(sigismember(&left, number) == 0, "signal %d is still pending", number);
    }
}
