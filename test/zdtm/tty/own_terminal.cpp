// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2(to-other) its restored children of a session leader have no terminal
#include "pty.hpp"

ZDTM("descriptors of /dev/tty, inherited within the session and by a new session") {
    const zdtm::Pty pty = zdtm::open_pty();
    SYS(close(SYS(open(pty.path.c_str(), O_RDWR))));  // the first process leads its session
    const int own = SYS(open("/dev/tty", O_RDWR));
    const pid_t member = me.start_child([=](zdtm::Task& task) {
        const int mine = SYS(open("/dev/tty", O_RDWR | O_NONBLOCK));
        task.wait_for_check();
        zdtm::write_text(mine, "m");
    });
    const pid_t stranger = me.start_child([=](zdtm::Task& task) {
        SYS(setsid());
        task.wait_for_check();
        zdtm::write_text(own, "s");
        CHECK(open("/dev/tty", O_RDWR) == -1 && errno == ENXIO, "the new session has a terminal");
    });
    me.wait_for_check();
    me.finish(member);
    me.finish(stranger);
    zdtm::write_text(own, "o");
    zdtm::await_bytes(pty.master, 3);
    CHECK(zdtm::read_now(pty.master) == "mso", "output differs");
}
