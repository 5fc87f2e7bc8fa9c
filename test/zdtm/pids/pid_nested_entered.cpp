// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also init-reaps-nobody,visitor-unreaped
// zdtm: fails-with-4.2 it restores one pid namespace only
#include <sys/prctl.h>

#include "nested_pids.hpp"

namespace {

// Runs in a pid namespace that it has entered: has a session and a child of its own.
void live_inside(zdtm::Task& task) {
    const pid_t own = getpid();
    CHECK(own > 1 && getppid() == 0, "pid %d, child of %d", own, getppid());
    SYS(setsid());
    const pid_t child = task.start_child([own](zdtm::Task& below) {
        const pid_t mine = getpid();
        below.wait_for_check();
        CHECK(getpid() == mine && getppid() == own && getsid(0) == own, "pid %d, parent %d, session %d", getpid(),
              getppid(), getsid(0));
    });
    task.wait_for_check();
    CHECK(getpid() == own && getppid() == 0 && getsid(0) == own, "pid %d, parent %d, session %d", getpid(), getppid(),
          getsid(0));
    SYS(kill(1, 0));
    task.finish(child);
}

}  // namespace

ZDTM("processes that entered pid namespaces from above, before and after others were created there") {
    SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
    const pid_t first = zdtm::start_first(me, [](zdtm::Task& task) {
        const pid_t inner = zdtm::start_first(task, [](zdtm::Task& below) { below.wait_for_check(); });
        const pid_t entered = zdtm::start_inside(task, inner, live_inside);
        task.wait_for_check();
        CHECK(getpid() == 1, "pid %d", getpid());
        task.finish(entered);
        task.finish(inner);
    });
    const pid_t entered = zdtm::start_inside(me, first, live_inside);
    // Makes a nested namespace whose init has a parent that entered the namespace above.
    const pid_t between = zdtm::start_inside(me, first, [](zdtm::Task& task) {
        const pid_t inner = zdtm::start_first(task, [](zdtm::Task& below) { below.wait_for_check(); });
        const pid_t deep = zdtm::start_inside(task, inner, live_inside);
        task.wait_for_check();
        task.finish(deep);
        task.finish(inner);
    });
    // The process keeps session and group of its creator, which its namespace shows as 0.
    const pid_t member = zdtm::start_inside(me, first, [](zdtm::Task& task) {
        CHECK(getsid(0) == 0 && getpgid(0) == 0, "session %d, group %d", getsid(0), getpgid(0));
        task.wait_for_check();
        CHECK(getsid(0) == 0 && getpgid(0) == 0, "session %d, group %d", getsid(0), getpgid(0));
    });

    me.wait_for_check();

    me.finish(member);
    me.finish(between);
    me.finish(entered);
    me.finish(first);
    const pid_t fresh = SYS(fork());
    if (fresh == 0)
        _exit(getppid() > 1 ? 0 : 1);
    CHECK(zdtm::wait_status(fresh) == 0, "a new child isn't in the namespace of its parent");
}
