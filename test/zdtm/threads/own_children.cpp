// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also pid-taken, restore-terminated
// zdtm: fails-with-4.2 it makes all children those of the first thread
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <iterator>
#include <set>
#include <sstream>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {

// Children of one thread: one in the thread's session, a session leader, and a member of the leader's session. Further
// a zombie, and one with a parent-death signal.
struct Family {
    pid_t self = 0;
    pid_t plain = 0;
    pid_t leader = 0;
    pid_t sibling = 0;
    pid_t zombie = 0;
    pid_t mourner = 0;
    std::set<pid_t> children;
};

std::set<pid_t> children_of(pid_t tid) {
    std::istringstream text(zdtm::read_file("/proc/self/task/" + std::to_string(tid) + "/children"));
    return {std::istream_iterator<pid_t>(text), {}};
}

void sleep_for_ever() {
    for (;;)
        pause();
}

pid_t fork_sleeper() {
    const pid_t child = SYS(fork());
    if (child == 0)
        sleep_for_ever();
    return child;
}

// Forks a session leader, which clones a sibling into its session.
void add_session(Family& family) {
    int report[2];
    SYS(pipe(report));
    family.leader = SYS(fork());
    if (family.leader == 0) {
        SYS(setsid());
        const pid_t sibling = static_cast<pid_t>(SYS(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)));
        if (sibling != 0)
            SYS(write(report[1], &sibling, sizeof(sibling)));
        sleep_for_ever();
    }
    SYS(read(report[0], &family.sibling, sizeof(family.sibling)));
    SYS(close(report[0]));
    SYS(close(report[1]));
}

void build(Family& family) {
    family.self = gettid();
    family.plain = fork_sleeper();
    add_session(family);
    family.zombie = SYS(fork());
    if (family.zombie == 0)
        _exit(3);
    siginfo_t info{};
    SYS(waitid(P_PID, static_cast<id_t>(family.zombie), &info, WEXITED | WNOWAIT));
    int ready[2];
    SYS(pipe(ready));
    family.mourner = SYS(fork());
    if (family.mourner == 0) {
        SYS(prctl(PR_SET_PDEATHSIG, SIGKILL));
        SYS(write(ready[1], "r", 1));
        sleep_for_ever();
    }
    char byte = 0;
    SYS(read(ready[0], &byte, 1));
    SYS(close(ready[0]));
    SYS(close(ready[1]));
    family.children = children_of(family.self);
}

// Runs in the thread itself. Requires it to see its own children and none of another thread.
void check(const Family& family, const Family& other) {
    CHECK(children_of(family.self) == family.children, "thread %d had %zu children, and has %zu or others", family.self,
          family.children.size(), children_of(family.self).size());
    int status = 0;
    CHECK(waitpid(other.zombie, &status, WNOHANG | __WNOTHREAD) == -1 && errno == ECHILD, "the other's child");
    CHECK(waitpid(family.zombie, &status, WNOHANG | __WNOTHREAD) == family.zombie && WEXITSTATUS(status) == 3,
          "no zombie");
    CHECK(getsid(family.plain) == getsid(0) && getsid(family.leader) == family.leader &&
              getsid(family.sibling) == family.leader,
          "other sessions: %d %d %d", getsid(family.plain), getsid(family.leader), getsid(family.sibling));
    for (const pid_t child : {family.plain, family.leader, family.sibling}) {
        SYS(kill(child, SIGKILL));
        CHECK(waitpid(child, &status, __WNOTHREAD | __WALL) == child && WTERMSIG(status) == SIGKILL, "child %d: %s",
              child, strerror(errno));
    }
}

}  // namespace

ZDTM("children belong to the thread that forked them: by wait with __WNOTHREAD and by parent-death signals") {
    Family leaders;
    Family first;
    Family second;
    build(leaders);
    zdtm::Threads threads(
        3,
        [&](unsigned index) {
            if (index == 0)
                build(first);
            if (index == 1) {
                SYS(unshare(CLONE_FS | CLONE_SYSVSEM));
                build(second);
            }
        },
        [&](unsigned index) {
            if (index == 0)
                check(first, second);
            if (index == 1)
                check(second, first);
        });
    me.wait_for_check();
    check(leaders, first);
    threads.finish();
    for (const pid_t mourner : {first.mourner, second.mourner}) {
        int status = 0;
        CHECK(waitpid(mourner, &status, 0) == mourner && WTERMSIG(status) == SIGKILL, "child %d: status %x", mourner,
              status);
    }
    SYS(kill(leaders.mourner, 0));
    zdtm::kill_and_reap(leaders.mourner);
}
