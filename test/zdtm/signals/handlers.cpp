// SPDX-License-Identifier: GPL-2.0-only
#include <sys/syscall.h>

#include "zdtm.hpp"

namespace {
// The kernel's struct sigaction. glibc's own two signals need it.
struct KernelAction {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)();
    std::uint64_t mask;
};

KernelAction action(int number) {
    KernelAction now{};
    SYS(syscall(SYS_rt_sigaction, number, nullptr, &now, sizeof now.mask));
    return now;
}

volatile sig_atomic_t last = 0;
volatile sig_atomic_t last_value = 0;

void plain(int number) {
    last = number;
}

void informed(int number, siginfo_t* info, void*) {
    last = number;
    last_value = info->si_value.sival_int;
}

bool can_be_caught(int number) {
    return number != SIGKILL && number != SIGSTOP && number != SIGTERM && number != SIGTRAP;
}
}  // namespace

ZDTM("actions of all signals: handlers, ignored and default, with flags and masks") {
    for (int number = 1; number <= 64; ++number) {
        if (!can_be_caught(number)) {
            continue;
        }
        if (number == 32 || number == 33) {
            // glibc's sigaction() refuses the two signals that it uses itself.
            const KernelAction ignored{SIG_IGN, 0, nullptr, 0};
            SYS(syscall(SYS_rt_sigaction, number, &ignored, nullptr, sizeof ignored.mask));
            continue;
        }
        struct sigaction wanted {};
        switch (number % 4) {
            case 0:
                wanted.sa_handler = SIG_DFL;
                break;
            case 1:
                wanted.sa_handler = SIG_IGN;
                break;
            case 2:
                wanted.sa_handler = plain;
                wanted.sa_flags = SA_RESTART | SA_NODEFER;
                break;
            default:
                wanted.sa_sigaction = informed;
                wanted.sa_flags = SA_SIGINFO | SA_ONSTACK;
        }
        sigemptyset(&wanted.sa_mask);
        sigaddset(&wanted.sa_mask, number % 31 + 1);
        sigaddset(&wanted.sa_mask, 64);
        SYS(sigaction(number, &wanted, nullptr));
    }
    KernelAction before[65] = {};
    for (int number = 1; number <= 64; ++number) {
        before[number] = action(number);
    }
    me.wait_for_check();

    for (int number = 1; number <= 64; ++number) {
        const KernelAction now = action(number);
        CHECK(now.handler == before[number].handler, "handler of signal %d", number);
        CHECK(now.flags == before[number].flags, "flags of signal %d were 0x%lx, are 0x%lx", number,
              before[number].flags, now.flags);
        CHECK(now.restorer == before[number].restorer, "restorer of signal %d", number);
        CHECK(now.mask == before[number].mask, "mask of signal %d was %lx, is %lx", number, before[number].mask,
              now.mask);
        if (can_be_caught(number) && number != 32 && number != 33 && number % 4 >= 2) {
            const sigval value{.sival_int = number * 3};
            SYS(sigqueue(getpid(), number, value));
            CHECK(last == number, "signal %d did not arrive", number);
            CHECK(number % 4 == 2 || last_value == number * 3, "signal %d came with %d", number, last_value);
        }
    }
}
