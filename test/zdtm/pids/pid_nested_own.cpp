// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-pids yes
// zdtm: fails-with-4.2 it restores one pid namespace only
#include "nested_pids.hpp"

ZDTM("a tree in a private pid namespace, and a nested one that ends with its init") {
    CHECK(getpid() == 1, "pid %d", getpid());
    int alive[2];
    SYS(pipe2(alive, O_CLOEXEC));
    const pid_t first = zdtm::start_first(me, [&alive](zdtm::Task& task) {
        SYS(close(alive[0]));
        const pid_t member = task.start_child([](zdtm::Task& below) {
            below.ready();
            for (;;)
                pause();
        });
        task.wait_for_check();
        CHECK(getpid() == 1 && getppid() == 0, "pid %d, child of %d", getpid(), getppid());
        SYS(kill(member, 0));
        SYS(write(alive[1], "", 1));
        for (;;)
            pause();
    });
    SYS(close(alive[1]));

    me.wait_for_check();

    CHECK(getpid() == 1 && getppid() == 0, "pid %d, child of %d", getpid(), getppid());
    SYS(kill(first, SIGTERM));
    char byte = 0;
    CHECK(read(alive[0], &byte, 1) == 1, "the namespace's init doesn't answer");
    zdtm::kill_and_reap(first);
    CHECK(read(alive[0], &byte, 1) == 0, "a process of the namespace lives on");
}
