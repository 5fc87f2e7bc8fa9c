// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-pids yes
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <thread>

#include "zdtm.hpp"

namespace {

pid_t thread_id() {
    return static_cast<pid_t>(syscall(SYS_gettid));
}

}  // namespace

ZDTM(
    "a tree in a pid namespace of its own: processes, threads, sessions, zombies and orphans keep their numbers "
    "there") {
    CHECK(getpid() == 1 && getppid() == 0, "pid %d, child of %d", getpid(), getppid());
    const pid_t leader = me.start_child([](zdtm::Task& task) {
        SYS(setsid());
        const pid_t own = getpid();
        const pid_t grandchild = task.start_child([&](zdtm::Task& below) {
            SYS(setpgid(0, 0));
            below.wait_for_check();
            CHECK(getppid() == own && getsid(0) == own && getpgid(0) == getpid(), "parent %d, session %d, group %d",
                  getppid(), getsid(0), getpgid(0));
        });
        task.wait_for_check();
        CHECK(getpid() == own && getsid(0) == own && getppid() == 1, "pid %d, session %d, parent %d", getpid(),
              getsid(0), getppid());
        CHECK(getpgid(grandchild) == grandchild, "group %d", getpgid(grandchild));
        task.finish(grandchild);
    });
    // Whoever loses its parent becomes a child of the namespace's first process.
    int from_orphan[2];
    SYS(pipe2(from_orphan, O_CLOEXEC));
    const pid_t middle = SYS(fork());
    if (middle == 0) {
        const pid_t orphan = SYS(fork());
        if (orphan == 0) {
            while (getppid() != 1)
                usleep(1000);
            const pid_t mine = getpid();
            SYS(write(from_orphan[1], &mine, sizeof(mine)));
            for (;;)
                pause();
        }
        _exit(0);
    }
    CHECK(zdtm::wait_status(middle) == 0, "%d", middle);
    pid_t orphan = 0;
    CHECK(read(from_orphan[0], &orphan, sizeof(orphan)) == sizeof(orphan), "%s", strerror(errno));
    SYS(close(from_orphan[0]));
    SYS(close(from_orphan[1]));
    const pid_t zombie = SYS(fork());
    if (zombie == 0)
        _exit(7);
    siginfo_t info{};
    SYS(waitid(P_PID, static_cast<id_t>(zombie), &info, WEXITED | WNOWAIT));

    volatile pid_t seen = 0;
    volatile bool stop = false;
    std::thread other([&] {
        seen = thread_id();
        while (!stop)
            usleep(1000);
        CHECK(seen == thread_id(), "thread %d was %d", thread_id(), seen);
    });
    while (seen == 0)
        usleep(1000);

    me.wait_for_check();
    CHECK(getpid() == 1 && getppid() == 0, "pid %d, child of %d", getpid(), getppid());
    stop = true;
    other.join();
    me.finish(leader);
    const int status = zdtm::wait_status(zombie);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7, "%#x", unsigned(status));
    zdtm::kill_and_reap(orphan);
}
