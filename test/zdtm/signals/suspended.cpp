// SPDX-License-Identifier: GPL-2.0-only
#include "threads.hpp"
#include "zdtm.hpp"

namespace {
std::atomic<int> caught{0};

void count(int) {
    ++caught;
}
}  // namespace

ZDTM("threads in sigsuspend and pause sleep until their signal, and then have their former mask") {
    signal(SIGUSR1, count);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigaddset(&blocked, SIGTERM);
    SYS(sigprocmask(SIG_BLOCK, &blocked, nullptr));
    zdtm::Threads threads(2, [&](unsigned index, zdtm::Threads& all) {
        sigset_t waiting = blocked;
        sigdelset(&waiting, SIGUSR1);
        if (index == 1) {
            pthread_sigmask(SIG_SETMASK, &waiting, nullptr);
        }
        all.arrive();
        const int got = index == 0 ? sigsuspend(&waiting) : pause();
        CHECK(got == -1 && errno == EINTR, "%d, %s", got, strerror(errno));
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        CHECK(sigismember(&mask, SIGUSR1) == (index == 0 ? 1 : 0), "thread %u has the other mask", index);
    });
    usleep(20000);
    me.wait_for_check();

    CHECK(caught == 0, "signals came from nowhere");
    pthread_kill(threads.handle(0), SIGUSR1);
    pthread_kill(threads.handle(1), SIGUSR1);
    threads.finish();
    CHECK(caught == 2, "%d signals arrived", caught.load());
}
