// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "zdtm.hpp"

namespace {

int open_pidfd(pid_t pid, unsigned flags = 0) {
    return static_cast<int>(SYS(syscall(SYS_pidfd_open, pid, flags)));
}

bool has_ended(int pidfd) {
    pollfd entry{pidfd, POLLIN, 0};
    return SYS(poll(&entry, 1, 0)) == 1;
}

}  // namespace

ZDTM("pidfds of the process itself, its parent, a child and a zombie; two processes share one") {
    const pid_t zombie = SYS(fork());
    if (zombie == 0) {
        _exit(3);
    }
    const pid_t parent = getpid();
    siginfo_t info{};
    SYS(waitid(P_PID, static_cast<id_t>(zombie), &info, WEXITED | WNOWAIT));
    const int of_zombie = open_pidfd(zombie);
    const int shared = open_pidfd(parent);
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        const int of_parent = open_pidfd(parent, O_NONBLOCK);
        task.wait_for_check();
        CHECK(has_ended(of_zombie), "the zombie lives");
        CHECK(!has_ended(shared) && !has_ended(of_parent), "the parent has ended");
        CHECK((fcntl(of_parent, F_GETFL) & O_NONBLOCK) != 0, "O_NONBLOCK was lost");
        SYS(syscall(SYS_pidfd_send_signal, of_parent, SIGUSR1, nullptr, 0));
    });
    const int of_child = open_pidfd(child);
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    SYS(sigprocmask(SIG_BLOCK, &usr1, nullptr));
    me.wait_for_check();

    CHECK(!has_ended(of_child), "the child has ended");
    CHECK(fcntl(of_zombie, F_GETFD) == FD_CLOEXEC, "close-on-exec was lost");
    CHECK(zdtm::status_field("/proc/self/fdinfo/" + std::to_string(shared), "Pid") == std::to_string(parent),
          "another process");
    SYS(syscall(SYS_pidfd_send_signal, of_child, SIGTERM, nullptr, 0));
    CHECK(sigwaitinfo(&usr1, &info) == SIGUSR1 && info.si_pid == child, "signal of %d", info.si_pid);
    CHECK(zdtm::wait_status(child) == 0, "the child failed");
    CHECK(has_ended(of_child), "the child lives");
    SYS(waitid(static_cast<idtype_t>(3), static_cast<id_t>(of_zombie), &info, WEXITED));
    CHECK(info.si_pid == zombie && info.si_status == 3, "pid %d ended with %d", info.si_pid, info.si_status);
}
