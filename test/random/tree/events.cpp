// SPDX-License-Identifier: GPL-2.0-only
// Steps that open descriptors of events.
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "builder.hpp"

namespace random_tree {

namespace {

sigset_t signals(const Step& step) {
    sigset_t set;
    sigemptyset(&set);
    const long mask = step.number("mask");
    for (int signal = 1; signal < 60; ++signal) {
        if ((mask >> signal & 1) != 0) {
            sigaddset(&set, signal);
        }
    }
    return set;
}

void event_counter(Builder& builder, const Step& step) {
    const int flags = (step.has("semaphore") ? EFD_SEMAPHORE : 0) | (step.has("nonblock") ? EFD_NONBLOCK : 0);
    const int fd = require(eventfd(0, flags), "eventfd");
    if (step.number("value") > 0) {
        require(eventfd_write(fd, static_cast<eventfd_t>(step.number("value"))), "eventfd_write");
    }
    builder.keep(step.word(1), fd);
}

void timer_descriptor(Builder& builder, const Step& step) {
    const int fd =
        require(timerfd_create(static_cast<int>(step.number("clock")), step.has("nonblock") ? TFD_NONBLOCK : 0),
                "timerfd_create");
    itimerspec value{};
    value.it_value.tv_sec = step.number("value");
    value.it_interval.tv_sec = step.number("interval");
    value.it_interval.tv_nsec = step.number("interval") != 0 ? step.number("nanoseconds") : 0;
    int flags = 0;
    if (step.has("absolute")) {
        timespec now{};
        // The vDSO would read the time stamp counter, which a step may have forbidden.
        require(syscall(SYS_clock_gettime, step.number("clock"), &now), "clock_gettime");
        value.it_value.tv_sec += now.tv_sec;
        flags = TFD_TIMER_ABSTIME;
    }
    require(timerfd_settime(fd, flags, &value, nullptr), "timerfd_settime");
    builder.keep(step.word(1), fd);
}

void signal_descriptor(Builder& builder, const Step& step) {
    const sigset_t set = signals(step);
    builder.keep(step.word(1), require(signalfd(-1, &set, step.has("nonblock") ? SFD_NONBLOCK : 0), "signalfd"));
}

void polled(Builder& builder, const Step& step) {
    builder.keep(step.word(1), require(epoll_create1(step.has("cloexec") ? EPOLL_CLOEXEC : 0), "epoll_create1"));
}

void poll_target(Builder& builder, const Step& step) {
    epoll_event event{};
    event.events = static_cast<std::uint32_t>(step.number("events", EPOLLIN));
    event.data.u64 = static_cast<std::uint64_t>(step.number("data"));
    const int target = builder.fd(step.word(2));
    require(epoll_ctl(builder.fd(step.word(1)), EPOLL_CTL_ADD, target, &event), "EPOLL_CTL_ADD");
}

void watches(Builder& builder, const Step& step) {
    builder.keep(step.word(1), require(inotify_init1(step.has("nonblock") ? IN_NONBLOCK : 0), "inotify_init1"));
}

void watch(Builder& builder, const Step& step) {
    const std::string path = "/proc/self/fd/" + std::to_string(builder.fd(step.word(2)));
    require(inotify_add_watch(builder.fd(step.word(1)), path.c_str(),
                              static_cast<std::uint32_t>(step.number("mask", IN_ACCESS))),
            "inotify_add_watch");
}

void process_descriptor(Builder& builder, const Step& step) {
    const std::string of = step.text("of", "self");
    const pid_t pid = of == "self" ? getpid() : of == "parent" ? getppid() : builder.child(of);
    builder.keep(step.word(1), static_cast<int>(require(syscall(SYS_pidfd_open, pid, 0), "pidfd_open")));
}

}  // namespace

void add_event_kinds(Kinds& kinds) {
    kinds["eventfd"] = event_counter;
    kinds["timerfd"] = timer_descriptor;
    kinds["signalfd"] = signal_descriptor;
    kinds["epoll"] = polled;
    kinds["target"] = poll_target;
    kinds["inotify"] = watches;
    kinds["watch"] = watch;
    kinds["pidfd"] = process_descriptor;
}

}  // namespace random_tree
