// SPDX-License-Identifier: GPL-2.0-only
#include "nested_pids.hpp"

#include <sys/wait.h>

namespace zdtm {
namespace {

pid_t start_session(Task& first) {
    return first.start_child([](Task& session) {
        SYS(setsid());
        const pid_t own = getpid();
        const pid_t member = session.start_child([own](Task& below) {
            SYS(setpgid(0, 0));
            below.wait_for_check();
            CHECK(getppid() == own && getsid(0) == own && getpgid(0) == getpid(), "parent %d, session %d, group %d",
                  getppid(), getsid(0), getpgid(0));
        });
        session.wait_for_check();
        CHECK(getpid() == own && getsid(0) == own && getppid() == 1, "pid %d, session %d, parent %d", getpid(),
              getsid(0), getppid());
        CHECK(getpgid(member) == member, "group %d", getpgid(member));
        session.finish(member);
    });
}

pid_t leave_orphan() {
    int from_orphan[2];
    SYS(pipe2(from_orphan, O_CLOEXEC));
    const pid_t middle = SYS(fork());
    if (middle == 0) {
        if (SYS(fork()) == 0) {
            while (getppid() != 1)
                usleep(1000);
            const pid_t mine = getpid();
            SYS(write(from_orphan[1], &mine, sizeof(mine)));
            for (;;)
                pause();
        }
        _exit(0);
    }
    CHECK(wait_status(middle) == 0, "%d", middle);
    pid_t orphan = 0;
    CHECK(read(from_orphan[0], &orphan, sizeof(orphan)) == sizeof(orphan), "%s", strerror(errno));
    SYS(close(from_orphan[0]));
    SYS(close(from_orphan[1]));
    return orphan;
}

constexpr int kOfZombie = 7;

pid_t leave_zombie() {
    const pid_t zombie = SYS(fork());
    if (zombie == 0)
        _exit(kOfZombie);
    siginfo_t info{};
    SYS(waitid(P_PID, static_cast<id_t>(zombie), &info, WEXITED | WNOWAIT));
    return zombie;
}

}  // namespace

Descendants::Descendants(Task& first)
    : leader_(start_session(first)), orphan_(leave_orphan()), zombie_(leave_zombie()) {}

void Descendants::finish(Task& first) const {
    first.finish(leader_);
    const int status = wait_status(zombie_);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == kOfZombie, "%#x", unsigned(status));
    kill_and_reap(orphan_);
}

}  // namespace zdtm
