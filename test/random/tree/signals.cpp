// SPDX-License-Identifier: GPL-2.0-only
// Steps that set signal state and timers.
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "builder.hpp"

namespace random_tree {

namespace {

void handler(int) {}

void action(Builder&, const Step& step) {
    struct sigaction value {};
    const std::string how = step.text("how", "handler");
    value.sa_handler = how == "ignore" ? SIG_IGN : how == "default" ? SIG_DFL : handler;
    value.sa_flags = static_cast<int>(step.number("flags"));
    sigemptyset(&value.sa_mask);
    if (step.number("masked") > 0) {
        sigaddset(&value.sa_mask, static_cast<int>(step.number("masked")));
    }
    require(sigaction(static_cast<int>(step.number("signal")), &value, nullptr), "sigaction");
}

void block(Builder&, const Step& step) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, static_cast<int>(step.number("signal")));
    require(sigprocmask(SIG_BLOCK, &set, nullptr), "sigprocmask");
}

// Sends a blocked signal to the process or to its main thread.
void pending(Builder& builder, const Step& step) {
    const int signal = static_cast<int>(step.number("signal"));
    block(builder, step);
    for (long i = 0; i < step.number("times", 1); ++i) {
        if (step.has("thread")) {
            require(syscall(SYS_tgkill, getpid(), gettid(), signal), "tgkill");
        } else {
            sigval value{};
            value.sival_int = static_cast<int>(step.number("value") + i);
            require(sigqueue(getpid(), signal, value), "sigqueue");
        }
    }
}

void alternate_stack(Builder&, const Step& step) {
    const auto size = static_cast<std::size_t>(step.number("pages", 4)) * 4096;
    void* begin = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) {
        fail_call("mmap");
    }
    stack_t stack{};
    stack.ss_sp = begin;
    stack.ss_size = size;
    require(sigaltstack(&stack, nullptr), "sigaltstack");
}

void interval_timer(Builder&, const Step& step) {
    itimerval value{};
    value.it_value.tv_sec = step.number("value");
    value.it_value.tv_usec = 250000;
    value.it_interval.tv_sec = step.number("interval");
    require(setitimer(static_cast<__itimer_which_t>(step.number("which")), &value, nullptr), "setitimer");
}

void posix_timer(Builder&, const Step& step) {
    sigevent event{};
    const std::string how = step.text("notify", "signal");
    event.sigev_notify = how == "none" ? SIGEV_NONE : how == "thread" ? SIGEV_THREAD_ID : SIGEV_SIGNAL;
    event.sigev_signo = static_cast<int>(step.number("signal", SIGUSR1));
    event.sigev_value.sival_int = static_cast<int>(step.number("data"));
    event._sigev_un._tid = gettid();
    int id = 0;
    require(syscall(SYS_timer_create, step.number("clock"), &event, &id), "timer_create");
    itimerspec value{};
    value.it_value.tv_sec = step.number("value");
    value.it_interval.tv_sec = step.number("interval");
    int flags = 0;
    if (step.has("absolute") && value.it_value.tv_sec != 0) {
        timespec now{};
        // The vDSO would read the time stamp counter, which a step may have forbidden.
        require(syscall(SYS_clock_gettime, step.number("clock"), &now), "clock_gettime");
        value.it_value.tv_sec += now.tv_sec;
        flags = TIMER_ABSTIME;
    }
    require(syscall(SYS_timer_settime, id, flags, &value, nullptr), "timer_settime");
    if (step.has("deleted")) {
        require(syscall(SYS_timer_delete, id), "timer_delete");
    }
}

}  // namespace

void add_signal_kinds(Kinds& kinds) {
    kinds["action"] = action;
    kinds["block"] = block;
    kinds["pending"] = pending;
    kinds["alternate-stack"] = alternate_stack;
    kinds["interval-timer"] = interval_timer;
    kinds["posix-timer"] = posix_timer;
}

}  // namespace random_tree
