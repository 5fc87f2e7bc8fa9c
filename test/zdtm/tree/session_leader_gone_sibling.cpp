// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 the member ends up with another parent
#include <sched.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("a session whose leader has been reaped; its members are children of the leader's parent") {
    const std::span<std::byte> memory =
        zdtm::map(zdtm::page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto* const member = reinterpret_cast<pid_t*>(memory.data());
    const pid_t leader = me.start_child([&](zdtm::Task& task) {
        SYS(setsid());
        // The leader clones a sibling, which is created in the session.
        const auto sibling = static_cast<pid_t>(SYS(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)));
        if (sibling == 0) {
            task.wait_trigger();
            const bool same = getsid(0) != getpid() && getsid(0) == getpgrp();
            _exit(same ? 0 : 1);
        }
        *member = sibling;
        task.wait_for_check();
    });
    me.finish(leader);
    CHECK(getsid(*member) == leader, "the session is not as planned");
    me.wait_for_check();
    CHECK(getsid(*member) == leader, "session was %d, is %d", leader, getsid(*member));
    me.finish(*member);
}
