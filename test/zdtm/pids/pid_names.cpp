// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-pids yes
// zdtm: dump-options --file-locks
// zdtm: restore-options --file-locks
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "patience.hpp"
#include "thread_timers.hpp"
#include "unix_sockets.hpp"
#include "zdtm.hpp"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

ZDTM("ids of processes in a pid namespace: owners of descriptors and locks, pidfds, timers, credentials in flight") {
    int ends[2];
    SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    const int on = 1;
    SYS(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
    const int data = SYS(open("data", O_RDWR | O_CREAT, 0600));
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        struct flock lock {};
        lock.l_type = F_WRLCK;
        lock.l_whence = SEEK_SET;
        lock.l_len = 10;
        SYS(fcntl(data, F_SETLK, &lock));
        SYS(fcntl(ends[1], F_SETOWN, getpid()));
        zdtm::send_message(ends[0], "c");
        task.wait_for_check();
        CHECK(fcntl(ends[1], F_GETOWN) == getpid(), "the owner is %d", fcntl(ends[1], F_GETOWN));
    });
    const int handle = static_cast<int>(SYS(syscall(SYS_pidfd_open, child, 0)));
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGUSR1);
    SYS(sigprocmask(SIG_BLOCK, &alarms, nullptr));
    const timer_t timer = zdtm::timer_for(getpid(), SIGUSR1);

    me.wait_for_check();
    struct flock other {};
    other.l_type = F_WRLCK;
    other.l_whence = SEEK_SET;
    other.l_len = 10;
    SYS(fcntl(data, F_GETLK, &other));
    CHECK(other.l_type == F_WRLCK && other.l_pid == child, "the lock is of %d instead of %d", other.l_pid, child);
    const ucred sender = zdtm::receive_credentials(ends[1]);
    CHECK(sender.pid == child, "credentials are of %d instead of %d", sender.pid, child);
    zdtm::let_go_off(timer);
    const timespec limit{zdtm::kPatience / 1000, 0};
    CHECK(sigtimedwait(&alarms, nullptr, &limit) == SIGUSR1, "the timer said nothing: %s", strerror(errno));
    SYS(static_cast<int>(syscall(SYS_pidfd_send_signal, handle, 0, nullptr, 0)));
    me.finish(child);
    CHECK(syscall(SYS_pidfd_send_signal, handle, 0, nullptr, 0) == -1 && errno == ESRCH, "the pidfd is of another");
}
