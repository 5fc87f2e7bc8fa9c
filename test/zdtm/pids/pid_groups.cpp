// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-pids yes
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <thread>

#include "patience.hpp"
#include "pty.hpp"
#include "thread_timers.hpp"
#include "zdtm.hpp"

namespace {

pid_t thread_id() {
    return static_cast<pid_t>(syscall(SYS_gettid));
}

f_owner_ex owner_of(int fd) {
    f_owner_ex owner{};
    SYS(fcntl(fd, F_GETOWN_EX, &owner));
    return owner;
}

void require_owner(int fd, const f_owner_ex& wanted) {
    const f_owner_ex owner = owner_of(fd);
    CHECK(owner.type == wanted.type && owner.pid == wanted.pid, "owner %d of type %d instead of %d of type %d",
          owner.pid, int(owner.type), wanted.pid, int(wanted.type));
}

// A process group whose leader has ended, and its only member.
struct Group {
    pid_t id;
    pid_t member;
};

Group start_group(zdtm::Task& me) {
    Group group{};
    group.id = SYS(fork());
    if (group.id == 0) {
        SYS(setpgid(0, 0));
        for (;;)
            pause();
    }
    while (getpgid(group.id) != group.id)
        usleep(1000);
    group.member = me.start_child([&](zdtm::Task& task) {
        SYS(setpgid(0, group.id));
        task.wait_for_check();
        CHECK(getpgid(0) == group.id, "the group is %d instead of %d", getpgid(0), group.id);
    });
    zdtm::kill_and_reap(group.id);
    return group;
}

}  // namespace

ZDTM(
    "ids of threads and groups in a pid namespace: a timer, the owner of a descriptor, the session and the foreground "
    "group of a terminal") {
    const Group group = start_group(me);
    int ends[2];
    SYS(pipe2(ends, O_CLOEXEC));
    const f_owner_ex to_group{F_OWNER_PGRP, group.id};
    SYS(fcntl(ends[0], F_SETOWN_EX, &to_group));

    volatile pid_t other_id = 0;
    volatile bool stop = false;
    std::thread other([&] {
        sigset_t alarms;
        sigemptyset(&alarms);
        sigaddset(&alarms, SIGUSR1);
        SYS(pthread_sigmask(SIG_BLOCK, &alarms, nullptr));
        other_id = thread_id();
        while (!stop)
            usleep(1000);
        const timespec limit{zdtm::kPatience / 1000, 0};
        CHECK(sigtimedwait(&alarms, nullptr, &limit) == SIGUSR1, "the timer said nothing: %s", strerror(errno));
    });
    while (other_id == 0)
        usleep(1000);
    const timer_t timer = zdtm::timer_for(other_id, SIGUSR1);
    const f_owner_ex to_thread{F_OWNER_TID, other_id};
    SYS(fcntl(ends[1], F_SETOWN_EX, &to_thread));

    const zdtm::Pty pty = zdtm::open_pty();
    const pid_t leader = me.start_child([&](zdtm::Task& task) {
        SYS(setsid());
        const int terminal = zdtm::open_slave(pty);
        SYS(ioctl(terminal, TIOCSCTTY, 0));
        const pid_t front = task.start_child([](zdtm::Task& below) {
            SYS(setpgid(0, 0));
            below.wait_for_check();
        });
        SYS(tcsetpgrp(terminal, front));
        task.wait_for_check();
        CHECK(tcgetsid(terminal) == getpid(), "session %d instead of %d", tcgetsid(terminal), getpid());
        CHECK(tcgetpgrp(terminal) == front, "foreground %d instead of %d", tcgetpgrp(terminal), front);
        task.finish(front);
    });

    me.wait_for_check();
    require_owner(ends[0], to_group);
    require_owner(ends[1], to_thread);
    zdtm::let_go_off(timer);
    stop = true;
    other.join();
    me.finish(group.member);
    me.finish(leader);
}
