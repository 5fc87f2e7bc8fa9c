// SPDX-License-Identifier: GPL-2.0-only
// Steps that create threads.
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "builder.hpp"

namespace random_tree {

namespace {

thread_local int own_word = 0;  // shows that the thread has its own thread-local memory

// Argument and state of a thread. It lives as long as the process.
struct Thread {
    Step step;
    int ready = 0;
    int answer = 0;
    std::string failure;
};

[[noreturn]] void wait_for_question(Thread& thread) {
    std::atomic_ref<int> answer(thread.answer);
    const int expected = static_cast<int>(thread.step.number("value"));
    while (answer.load() != 1) {
        syscall(SYS_futex, &thread.answer, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
    answer.store(own_word == expected ? 2 : 3);
    syscall(SYS_futex, &thread.answer, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    while (true) {
        pause();
    }
}

void hold_robust_mutex() {
    auto* mutex = new pthread_mutex_t;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(mutex, &attributes);
    pthread_mutex_lock(mutex);
}

void set_up(const Step& step) {
    if (!step.text("name").empty()) {
        require(prctl(PR_SET_NAME, step.text("name").c_str()), "PR_SET_NAME");
    }
    if (step.number("nice") != 0) {
        require(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), static_cast<int>(step.number("nice"))),
                "setpriority");
    }
    if (step.number("policy") != 0) {
        const sched_param parameters{static_cast<int>(step.number("priority"))};
        require(sched_setscheduler(0, static_cast<int>(step.number("policy")), &parameters), "sched_setscheduler");
    }
    if (step.number("blocked") != 0) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, static_cast<int>(step.number("blocked")));
        pthread_sigmask(SIG_BLOCK, &set, nullptr);
        for (long i = 0; i < step.number("pending"); ++i) {
            require(syscall(SYS_tgkill, getpid(), gettid(), step.number("blocked")), "tgkill");
        }
    }
    if (step.has("alternate-stack")) {
        void* begin = mmap(nullptr, 32768, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (begin == MAP_FAILED) {
            fail_call("mmap");
        }
        stack_t stack{};
        stack.ss_sp = begin;
        stack.ss_size = 32768;
        require(sigaltstack(&stack, nullptr), "sigaltstack");
    }
    if (step.has("robust")) {
        hold_robust_mutex();
    }
    if (step.number("death-signal") != 0) {
        require(prctl(PR_SET_PDEATHSIG, step.number("death-signal")), "PR_SET_PDEATHSIG");
    }
    if (step.number("timer-slack") != 0) {
        require(prctl(PR_SET_TIMERSLACK, step.number("timer-slack")), "PR_SET_TIMERSLACK");
    }
}

void* run(void* argument) {
    Thread& thread = *static_cast<Thread*>(argument);
    own_word = static_cast<int>(thread.step.number("value"));
    // A pending signal of the process must not go to a thread that doesn't block it.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    try {
        set_up(thread.step);
    } catch (const std::exception& error) {
        thread.failure = error.what();
    }
    std::atomic_ref<int> ready(thread.ready);
    ready.store(1);
    syscall(SYS_futex, &thread.ready, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    const std::string waits = thread.step.text("waits", "futex");
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    const timespec year{31536000, 0};
    while (waits != "futex") {
        if (waits == "poll") {
            poll(nullptr, 0, -1);
        } else if (waits == "sleep") {
            clock_nanosleep(CLOCK_MONOTONIC, 0, &year, nullptr);
        } else if (waits == "signal") {
            sigwaitinfo(&set, nullptr);
        } else if (waits == "select") {
            select(0, nullptr, nullptr, nullptr, nullptr);
        } else {
            pause();
        }
    }
    wait_for_question(thread);
}

void thread(Builder& builder, const Step& step) {
    auto* made = new Thread{step, 0, 0, {}};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    pthread_t id;
    if ((errno = pthread_create(&id, &attributes, run, made)) != 0) {
        fail_call("pthread_create");
    }
    std::atomic_ref<int> ready(made->ready);
    while (ready.load() == 0) {
        syscall(SYS_futex, &made->ready, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
    if (step.text("waits", "futex") == "futex") {
        builder.add_answer(&made->answer);
    }
    if (!made->failure.empty()) {
        throw Missing(made->failure);
    }
}

}  // namespace

void add_thread_kinds(Kinds& kinds) {
    kinds["thread"] = thread;
}

}  // namespace random_tree
