// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 POSIX message queues
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include <vector>

#include "zdtm.hpp"

namespace {

struct Opened {
    std::string what;
    int fd;
    int flags;
    bool closes;
};

void add(std::vector<Opened>& all, const std::string& what, int fd) {
    all.push_back({what, fd, SYS(fcntl(fd, F_GETFL)), false});
}

/// `flag`: O_CLOEXEC or 0. It is one number with the flags of the other calls.
void open_all(std::vector<Opened>& all, int flag) {
    for (const char* const path : {"file", "fifo", "/dev/null", "/dev/zero", "/dev/ptmx", "/proc/self/status"})
        add(all, path, SYS(open(path, O_RDWR * (path[0] != '/' || path[1] != 'p') | O_NONBLOCK | O_NOCTTY | flag)));
    add(all, "append", SYS(open("file", O_WRONLY | O_APPEND | flag)));
    add(all, "directory", SYS(open(".", O_RDONLY | O_DIRECTORY | flag)));
    add(all, "path", SYS(open("file", O_PATH | flag)));
    const int deleted = SYS(open("deleted", O_RDWR | O_CREAT | flag, 0600));
    SYS(unlink("deleted"));
    add(all, "deleted", deleted);
    add(all, "queue", SYS(mq_open("/flags_of_opening", O_RDWR | O_CREAT | flag, 0600, nullptr)));
    add(all, "eventfd", SYS(eventfd(0, flag)));
    add(all, "timerfd", SYS(timerfd_create(CLOCK_MONOTONIC, flag)));
    add(all, "epoll", SYS(epoll_create1(flag)));
    add(all, "inotify", SYS(inotify_init1(flag)));
    add(all, "memfd", SYS(memfd_create("memory", flag != 0 ? MFD_CLOEXEC : 0)));
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    add(all, "signalfd", SYS(signalfd(-1, &set, flag)));
    int ends[2];
    SYS(pipe2(ends, flag));
    add(all, "pipe", ends[0]);
    add(all, "pipe's other end", ends[1]);
    SYS(socketpair(AF_UNIX, SOCK_STREAM | flag, 0, ends));
    add(all, "socket", ends[0]);
    SYS(close(ends[1]));
    add(all, "pidfd", static_cast<int>(SYS(syscall(SYS_pidfd_open, getpid(), 0))));
}

}  // namespace

ZDTM("flags of descriptions are what they were opened with, also O_CLOEXEC, which F_GETFL shows of some") {
    SYS(unshare(CLONE_NEWIPC));
    SYS(close(SYS(open("file", O_WRONLY | O_CREAT, 0600))));
    SYS(mkfifo("fifo", 0600));
    std::vector<Opened> all;
    open_all(all, 0);
    const std::size_t closed_on_exec = all.size();
    open_all(all, O_CLOEXEC);
    // What the descriptor has is independent of that. /proc doesn't tell where F_GETFL shows O_CLOEXEC.
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].closes = i < closed_on_exec || (all[i].flags & O_CLOEXEC) != 0;
        SYS(fcntl(all[i].fd, F_SETFD, all[i].closes ? FD_CLOEXEC : 0));
    }
    me.wait_for_check();

    std::string lost;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const int now = SYS(fcntl(all[i].fd, F_GETFL));
        char numbers[64] = {};
        snprintf(numbers, sizeof(numbers), ": %#o, was %#o; ", now, all[i].flags);
        if (now != all[i].flags)
            lost += all[i].what + (i < closed_on_exec ? "" : " with O_CLOEXEC") + numbers;
        CHECK((SYS(fcntl(all[i].fd, F_GETFD)) != 0) == all[i].closes, "%s: close on exec", all[i].what.c_str());
    }
    CHECK(lost.empty(), "%s", lost.c_str());
}
