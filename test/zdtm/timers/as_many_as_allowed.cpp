// SPDX-License-Identifier: GPL-2.0-only
// zdtm: outside program
// zdtm: also fewer-signals
#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <ctime>
#include <vector>

#include "zdtm.hpp"

namespace {

void limit_to(rlim_t count) {
    const rlimit limit{count, count};
    SYS(setrlimit(RLIMIT_SIGPENDING, &limit));
}

// Has signals queued for itself, each of which counts for its user.
int fill_queue(int most) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 5);
    SYS(sigprocmask(SIG_BLOCK, &set, nullptr));
    int count = 0;
    while (count < most && sigqueue(getpid(), SIGRTMIN + 5, sigval{.sival_int = count}) == 0)
        ++count;
    return count;
}

// Becomes a user that no other test has: the kernel counts signals for a user in all pid namespaces.
void become_sole_user() {
    struct stat here {};
    SYS(stat(".", &here));
    const auto user = static_cast<uid_t>(0x10000000 + (here.st_ino & 0xfffffff));
    SYS(setgroups(0, nullptr));
    SYS(setresgid(user, user, user));
    SYS(setresuid(user, user, user));
}

}  // namespace

ZDTM("as many timers and queued signals as a user is allowed, where root has more queued than that") {
    constexpr rlim_t kAllowed = 500;
    constexpr int kSignals = 100;
    if (getenv("ZDTM_OUTSIDE") != nullptr) {
        limit_to(RLIM_INFINITY);
        const int queued = fill_queue(kAllowed * 2);
        CHECK(queued == kAllowed * 2, "%d signals", queued);
        me.ready();
        for (;;)
            pause();
    }
    const pid_t child = me.start_child([](zdtm::Task& task) {
        limit_to(kAllowed);
        become_sole_user();
        const int queued = fill_queue(kSignals);
        CHECK(queued == kSignals, "%d signals", queued);
        std::vector<timer_t> timers;
        sigevent event{};
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = SIGRTMIN;
        timer_t timer{};
        while (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
            timers.push_back(timer);
        CHECK(errno == EAGAIN && timers.size() > kAllowed / 2, "%zu timers: %s", timers.size(), strerror(errno));
        task.wait_for_check();

        for (const timer_t each : timers) {
            itimerspec value{};
            SYS(timer_gettime(each, &value));
        }
        rlimit limit{};
        SYS(getrlimit(RLIMIT_SIGPENDING, &limit));
        CHECK(limit.rlim_cur == kAllowed && limit.rlim_max == kAllowed, "the limit is %llu",
              static_cast<unsigned long long>(limit.rlim_cur));
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGRTMIN + 5);
        for (int i = 0; i < kSignals; ++i) {
            const timespec now{};
            siginfo_t info{};
            CHECK(sigtimedwait(&set, &info, &now) == SIGRTMIN + 5 && info.si_value.sival_int == i, "signal %d", i);
        }
    });
    me.wait_for_check();
    me.finish(child);
}
