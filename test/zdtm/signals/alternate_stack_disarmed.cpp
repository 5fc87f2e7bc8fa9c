// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

namespace {
constexpr unsigned kAutoDisarm = 1U << 31;  // SS_AUTODISARM of <linux/signal.h>, which conflicts with <csignal>
constexpr std::size_t kSize = 65536;
alignas(16) char memory[kSize];
volatile sig_atomic_t disarmed = -1;
volatile sig_atomic_t on_it = -1;

void handler(int) {
    const char here = 0;
    on_it = &here >= memory && &here < memory + kSize ? 1 : 0;
    stack_t now{};
    SYS(sigaltstack(nullptr, &now));
    disarmed = (now.ss_flags & SS_DISABLE) != 0 ? 1 : 0;
}
}  // namespace

ZDTM("an alternate stack that the kernel disarms while a handler runs (SS_AUTODISARM)") {
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_flags = static_cast<int>(kAutoDisarm);
    stack.ss_size = kSize;
    SYS(sigaltstack(&stack, nullptr));
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK;
    SYS(sigaction(SIGUSR1, &action, nullptr));
    me.wait_for_check();

    stack_t now{};
    SYS(sigaltstack(nullptr, &now));
    CHECK(now.ss_sp == memory && now.ss_size == kSize, "another stack: %zu bytes at %p", now.ss_size, now.ss_sp);
    CHECK(static_cast<unsigned>(now.ss_flags) == kAutoDisarm, "flags %#x", now.ss_flags);
    SYS(raise(SIGUSR1));
    CHECK(on_it == 1, "the handler runs on the usual stack");
    CHECK(disarmed == 1, "the stack stays armed while the handler runs");
    SYS(sigaltstack(nullptr, &now));
    CHECK(static_cast<unsigned>(now.ss_flags) == kAutoDisarm, "flags %#x after the handler", now.ss_flags);
}
