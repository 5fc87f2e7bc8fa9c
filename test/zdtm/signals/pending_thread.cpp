// SPDX-License-Identifier: GPL-2.0-only
#include "threads.hpp"
#include "zdtm.hpp"

namespace {
constexpr unsigned count = 5;

sigset_t own_set(unsigned index) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGRTMIN + 1);
    sigaddset(&set, SIGRTMIN + 10 + static_cast<int>(index));
    return set;
}
}  // namespace

ZDTM("pending signals of single threads stay with these threads") {
    zdtm::Threads threads(
        count,
        [](unsigned index) {
            const sigset_t set = own_set(index);
            pthread_sigmask(SIG_BLOCK, &set, nullptr);
            for (int i = 0; i < 3; ++i) {
                const int error = pthread_sigqueue(pthread_self(), SIGRTMIN + 1,
                                                   sigval{.sival_int = static_cast<int>(index) * 10 + i});
                CHECK(error == 0, "%s", strerror(error));
            }
            pthread_kill(pthread_self(), SIGRTMIN + 10 + static_cast<int>(index));
        },
        [](unsigned index) {
            siginfo_t info{};
            const timespec now{};
            sigset_t set;
            sigemptyset(&set);
            sigaddset(&set, SIGRTMIN + 1);
            for (int i = 0; i < 3; ++i) {
                CHECK(sigtimedwait(&set, &info, &now) == SIGRTMIN + 1, "signal %d is gone", i);
                CHECK(info.si_value.sival_int == static_cast<int>(index) * 10 + i, "value %d in thread %u",
                      info.si_value.sival_int, index);
            }
            sigemptyset(&set);
            sigaddset(&set, SIGRTMIN + 10 + static_cast<int>(index));
            // glibc reports SI_TKILL as SI_USER.
            CHECK(sigtimedwait(&set, &info, &now) > 0, "thread %u's own signal is gone", index);
            CHECK(info.si_code == SI_USER && info.si_pid == getpid(), "code %d, from %d", info.si_code, info.si_pid);
            sigset_t left;
            SYS(sigpending(&left));
            for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) {
                CHECK(sigismember(&left, number) == 0, "thread %u also has signal %d", index, number);
            }
        });
    me.wait_for_check();
    threads.finish();
}
