// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

namespace {
constexpr std::size_t size = 65536;
alignas(16) char stack_memory[size];
zdtm::Task* task = nullptr;
volatile sig_atomic_t calls = 0;

bool on_alternate_stack() {
    const char here = 0;
    return &here >= stack_memory && &here < stack_memory + size;
}

// The dump comes during the first call.
void handler(int) {
    CHECK(on_alternate_stack(), "the handler runs on the usual stack");
    calls = calls + 1;
    if (calls == 1) {
        task->wait_for_check();
        CHECK(on_alternate_stack(), "the handler came back on the usual stack");
        stack_t now{};
        SYS(sigaltstack(nullptr, &now));
        CHECK((now.ss_flags & SS_ONSTACK) != 0, "flags 0x%x", now.ss_flags);
    }
}
}  // namespace

ZDTM("a process that is dumped inside a handler on its alternate stack returns from the handler") {
    task = &me;
    const stack_t stack{stack_memory, 0, size};
    SYS(sigaltstack(&stack, nullptr));
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK;
    sigaddset(&action.sa_mask, SIGUSR2);
    SYS(sigaction(SIGUSR1, &action, nullptr));
    volatile std::uint64_t local = 0x1234567890abcdef;
    SYS(raise(SIGUSR1));

    CHECK(calls == 1 && local == 0x1234567890abcdef, "%d calls", calls);
    CHECK(!on_alternate_stack(), "still on the alternate stack");
    sigset_t mask;
    SYS(sigprocmask(SIG_SETMASK, nullptr, &mask));
    CHECK(sigismember(&mask, SIGUSR1) == 0 && sigismember(&mask, SIGUSR2) == 0, "the handler's mask stayed");
    SYS(raise(SIGUSR1));
    CHECK(calls == 2, "%d calls", calls);
}
