// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused creates its children in another pid namespace than the process.*in the place of such a thread
#include <sched.h>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a thread whose next child is the init of a new pid namespace") {
    zdtm::Threads threads(
        1, [](unsigned) { SYS(unshare(CLONE_NEWPID)); },
        [](unsigned) {
            const pid_t child = SYS(fork());
            if (child == 0)
                _exit(getpid() == 1 ? 0 : 1);
            CHECK(zdtm::wait_status(child) == 0, "the child isn't the first process of a namespace");
        });
    me.wait_for_check();
    threads.finish();
    const pid_t child = SYS(fork());
    if (child == 0)
        _exit(getpid() > 1 ? 0 : 1);
    CHECK(zdtm::wait_status(child) == 0, "a child of the first thread is where those of the other are");
}
