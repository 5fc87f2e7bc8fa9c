// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-pids yes
#include <sys/syscall.h>

#include <thread>

#include "nested_pids.hpp"

namespace {

pid_t thread_id() {
    return static_cast<pid_t>(syscall(SYS_gettid));
}

}  // namespace

ZDTM("a tree in a private pid namespace: processes, threads, sessions, zombies and orphans keep their ids") {
    CHECK(getpid() == 1 && getppid() == 0, "pid %d, child of %d", getpid(), getppid());
    const zdtm::Descendants descendants(me);

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
    descendants.finish(me);
}
