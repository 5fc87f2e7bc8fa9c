// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2(to-other) its restored children of a session leader have no terminal
#include "pty.hpp"

ZDTM("a session with its controlling terminal, a foreground group and a background group") {
    const zdtm::Pty pty = zdtm::open_pty();
    const pid_t leader = me.start_child([&pty](zdtm::Task& task) {
        const pid_t session = SYS(setsid());
        const int terminal = SYS(open(pty.path.c_str(), O_RDWR));
        SYS(close(pty.master));
        const auto job = [&](bool foreground) {
            return task.start_child([=](zdtm::Task& child) {
                SYS(setpgid(0, 0));
                signal(SIGTTOU, SIG_IGN);
                if (foreground) {
                    SYS(tcsetpgrp(terminal, getpid()));
                }
                child.wait_for_check();
                const int again = SYS(open("/dev/tty", O_RDWR));
                CHECK(SYS(tcgetsid(again)) == session, "session %d, not %d", tcgetsid(again), session);
                CHECK((SYS(tcgetpgrp(again)) == getpid()) == foreground, "foreground group %d", tcgetpgrp(again));
                SYS(close(again));
            });
        };
        const pid_t background = job(false);
        const pid_t foreground = job(true);
        task.wait_for_check();
        CHECK(SYS(tcgetpgrp(terminal)) == foreground, "foreground group %d", tcgetpgrp(terminal));
        task.finish(foreground);
        task.finish(background);
    });
    me.wait_for_check();
    pid_t session = 0;
    SYS(ioctl(pty.master, TIOCGSID, &session));
    CHECK(session == leader, "session %d, not %d", session, leader);
    me.finish(leader);
}
