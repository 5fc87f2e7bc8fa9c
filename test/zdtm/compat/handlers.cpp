// SPDX-License-Identifier: GPL-2.0-only
#include <sys/syscall.h>
#include <ucontext.h>

#include "zdtm.hpp"

namespace {
zdtm::Task* task = nullptr;
char other_stack[65536];
volatile sig_atomic_t calls = 0;
siginfo_t last{};
bool on_other_stack = false;

void informed(int, siginfo_t* info, void*) {
    const char* const here = reinterpret_cast<const char*>(&info);
    on_other_stack = here >= other_stack && here < other_stack + sizeof(other_stack);
    last = *info;
    calls = calls + 1;
}

// The dump comes while this handler runs, so the stack has a signal frame for 32-bit code.
void sleeping(int) {
    task->wait_for_check();
    calls = calls + 1;
}
}  // namespace

ZDTM("signal handling of 32-bit code: a running handler, siginfo, the alternate stack, pending signals") {
    task = &me;
    stack_t stack{other_stack, 0, sizeof(other_stack)};
    SYS(sigaltstack(&stack, nullptr));
    struct sigaction action {};
    action.sa_sigaction = informed;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaddset(&action.sa_mask, 64);
    SYS(sigaction(SIGUSR2, &action, nullptr));
    SYS(sigaction(SIGRTMIN + 3, &action, nullptr));
    struct sigaction waiting {};
    waiting.sa_handler = sleeping;
    SYS(sigaction(SIGUSR1, &waiting, nullptr));
    sigset_t pending{};
    sigaddset(&pending, SIGRTMIN + 3);
    SYS(sigprocmask(SIG_BLOCK, &pending, nullptr));
    sigval value{};
    value.sival_ptr = &stack;
    SYS(sigqueue(getpid(), SIGRTMIN + 3, value));
    raise(SIGUSR1);

    CHECK(calls == 1, "%d calls", calls);
    SYS(sigprocmask(SIG_UNBLOCK, &pending, nullptr));
    CHECK(calls == 2 && on_other_stack, "%d calls, on the other stack: %d", calls, on_other_stack);
    CHECK(last.si_code == SI_QUEUE && last.si_pid == getpid() && last.si_value.sival_ptr == &stack,
          "code %d of %d with %p", last.si_code, last.si_pid, last.si_value.sival_ptr);
    SYS(kill(getpid(), SIGUSR2));
    CHECK(calls == 3 && last.si_code == SI_USER, "%d calls, code %d", calls, last.si_code);
    struct sigaction now {};
    SYS(sigaction(SIGUSR2, nullptr, &now));
    CHECK(now.sa_sigaction == informed && now.sa_flags == action.sa_flags && sigismember(&now.sa_mask, 64) == 1 &&
              sigismember(&now.sa_mask, 63) == 0,
          "flags %#x", now.sa_flags);
}
