// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-pids yes
// zdtm: modes dumped-inside
#include <sched.h>
#include <sys/mount.h>

#include <thread>

#include "zdtm.hpp"

ZDTM("the first process of a pid namespace, with threads and a child, is dumped by a criu inside of the namespace") {
    CHECK(getpid() == 1, "pid %d", getpid());
    // Who enters it sees processes as this one does.
    SYS(unshare(CLONE_NEWNS));
    SYS(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    SYS(mount("proc", "/proc", "proc", 0, nullptr));
    std::thread([] { pause(); }).detach();
    if (SYS(fork()) == 0) {
        pause();
    }
    me.wait_for_check();
}
