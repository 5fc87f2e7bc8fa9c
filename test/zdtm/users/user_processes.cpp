// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also user-given, user-given-more
// zdtm: own-users yes
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "zdtm.hpp"

namespace {

void become(uid_t user) {
    SYS(setresgid(user, user, user));
    SYS(setresuid(user, user, user));
}

}  // namespace

ZDTM("processes of several users of a user namespace: memory, signals, limits, nice values, zombies") {
    const std::span<std::byte> memory = zdtm::map(64 * zdtm::page_size());
    zdtm::fill(memory, 1);
    const pid_t sleeper = me.start_child([&](zdtm::Task& task) {
        zdtm::write_file("/proc/self/oom_score_adj", "500");
        become(10);
        zdtm::fill(memory.first(zdtm::page_size()), 2);
        SYS(setpriority(PRIO_PROCESS, 0, 15));
        const rlimit files{100, 200};
        SYS(setrlimit(RLIMIT_NOFILE, &files));
        task.wait_for_check();
        CHECK(getpriority(PRIO_PROCESS, 0) == 15, "nice value %d", getpriority(PRIO_PROCESS, 0));
        rlimit now{};
        SYS(getrlimit(RLIMIT_NOFILE, &now));
        CHECK(now.rlim_cur == 100 && now.rlim_max == 200, "limits %lu %lu", now.rlim_cur, now.rlim_max);
        CHECK(zdtm::read_file("/proc/self/oom_score_adj") == "500\n", "another OOM score");
        CHECK(zdtm::first_difference(memory.first(zdtm::page_size()), 2) == -1, "its memory has changed");
    });
    const pid_t same = me.start_child([&](zdtm::Task& task) {
        become(10);
        SYS(setsid());
        task.wait_for_check();
        SYS(kill(sleeper, 0));
        CHECK(kill(1, 0) == -1 && errno == EPERM, "a user may signal root");
    });
    const pid_t other = me.start_child([&](zdtm::Task& task) {
        become(11);
        const pid_t zombie = SYS(fork());
        if (zombie == 0)
            _exit(3);
        siginfo_t info{};
        SYS(waitid(P_PID, static_cast<id_t>(zombie), &info, WEXITED | WNOWAIT));
        task.wait_for_check();
        CHECK(kill(sleeper, 0) == -1 && errno == EPERM, "a user may signal another");
        const int status = zdtm::wait_status(zombie);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3, "%#x", static_cast<unsigned>(status));
    });
    const int locked = SYS(open("locked", O_RDWR | O_CREAT, 0600));
    SYS(mlock(memory.data(), zdtm::page_size()));

    me.wait_for_check();
    CHECK(zdtm::first_difference(memory, 1) == -1, "memory has changed");
    CHECK(zdtm::has_vm_flag(memory.data(), "lo"), "memory isn't locked any more");
    me.finish(same);
    me.finish(other);
    me.finish(sleeper);
    SYS(write(locked, "x", 1));
}
