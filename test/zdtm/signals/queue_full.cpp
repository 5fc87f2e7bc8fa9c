// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it loses signals without siginfo
#include <pthread.h>
#include <sys/resource.h>

#include "zdtm.hpp"

namespace {

void lower_limit() {
    const rlimit none{0, 0};
    SYS(setrlimit(RLIMIT_SIGPENDING, &none));
}

void block(std::initializer_list<int> signals) {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : signals)
        sigaddset(&set, signal);
    SYS(sigprocmask(SIG_BLOCK, &set, nullptr));
}

volatile sig_atomic_t traps;

}  // namespace

ZDTM("processes whose user may queue no signal live on, and keep signals that are pending without siginfo") {
    const pid_t plain = me.start_child([](zdtm::Task& task) {
        lower_limit();
        task.wait_for_check();
    });
    const pid_t trapped = me.start_child([](zdtm::Task& task) {
        lower_limit();
        signal(SIGTRAP, [](int) { traps = traps + 1; });
        task.wait_for_check();
        CHECK(traps == 0, "a handler has run %d times", traps);
    });
    const pid_t pending = me.start_child([](zdtm::Task& task) {
        lower_limit();
        const int real_time = SIGRTMIN + 3;
        block({SIGUSR1, SIGUSR2, SIGTRAP, real_time});
        SYS(pthread_kill(pthread_self(), SIGUSR1));
        SYS(pthread_kill(pthread_self(), SIGTRAP));
        SYS(kill(getpid(), SIGUSR2));
        SYS(kill(getpid(), real_time));
        task.wait_for_check();
        const char* status = "/proc/thread-self/status";
        const auto bits = [&](const char* field) {
            return std::stoull(zdtm::status_field(status, field), nullptr, 16);
        };
        const auto bit = [](int signal) { return 1ULL << (signal - 1); };
        CHECK(bits("SigPnd") == (bit(SIGUSR1) | bit(SIGTRAP)), "%llx for the thread", bits("SigPnd"));
        CHECK((bits("ShdPnd") & ~bit(SIGTERM)) == (bit(SIGUSR2) | bit(real_time)), "%llx for the process",
              bits("ShdPnd"));
        for (const int signal : {SIGUSR1, SIGUSR2, SIGTRAP, real_time}) {
            sigset_t set;
            sigemptyset(&set);
            sigaddset(&set, signal);
            const timespec now{};
            siginfo_t info{};
            CHECK(sigtimedwait(&set, &info, &now) == signal, "signal %d is gone", signal);
            // The kernel queues standard signals of kill(2) beyond the limit, and so knows their sender.
            const pid_t sender = signal == SIGUSR2 ? getpid() : 0;
            CHECK(info.si_code == SI_USER && info.si_pid == sender, "signal %d: code %d, of %d", signal, info.si_code,
                  info.si_pid);
        }
    });
    me.wait_for_check();
    for (const pid_t child : {plain, trapped, pending})
        me.finish(child);
}
