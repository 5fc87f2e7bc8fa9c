// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-pids yes
// zdtm: modes dumped-inside
#include <sched.h>
#include <sys/mount.h>

#include <atomic>
#include <thread>

#include "zdtm.hpp"

ZDTM("the init of a pid namespace, with threads and a child, is dumped by a criu inside the namespace") {
    CHECK(getpid() == 1, "pid %d", getpid());
    // criu, when it enters this namespace, sees the same /proc.
    SYS(unshare(CLONE_NEWNS));
    SYS(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    SYS(mount("proc", "/proc", "proc", 0, nullptr));
    std::atomic<bool> stop = false;
    std::thread other([&] {
        while (!stop)
            usleep(1000);
    });
    const pid_t child = me.start_child([](zdtm::Task& task) {
        const pid_t own = getpid();
        task.wait_for_check();
        CHECK(getpid() == own && getppid() == 1, "pid %d was %d, child of %d", getpid(), own, getppid());
    });
    me.wait_for_check();
    CHECK(getpid() == 1, "pid %d", getpid());
    stop = true;
    other.join();
    me.finish(child);
}
