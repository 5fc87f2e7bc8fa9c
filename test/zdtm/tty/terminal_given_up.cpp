// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,leave-running
// zdtm: warns process [0-9]+ .*has no controlling terminal, but gets that of its session.*loss: terminals
// zdtm: fails-with-4.2 it says nothing
// zdtm: not-in all-killed, dump-killed
// zdtm: ignore stat tty_nr, stat tpgid
#include "pty.hpp"

ZDTM("a dump warns of a process that has given up the controlling terminal of its session") {
    const zdtm::Pty pty = zdtm::open_pty();
    const pid_t leader = me.start_child([&pty](zdtm::Task& task) {
        SYS(setsid());
        const int terminal = SYS(open(pty.path.c_str(), O_RDWR));
        const pid_t member = task.start_child([terminal](zdtm::Task& child) {
            SYS(ioctl(terminal, TIOCNOTTY));
            child.wait_for_check();
        });
        task.wait_for_check();
        CHECK(SYS(tcgetsid(terminal)) == getpid(), "session %d", tcgetsid(terminal));
        task.finish(member);
    });
    me.wait_for_check();
    me.finish(leader);
}
