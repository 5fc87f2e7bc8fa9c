// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it can't restore them
#include "pty.hpp"

ZDTM("descriptors of /dev/tty whose terminal is hung up") {
    signal(SIGHUP, SIG_IGN);
    const zdtm::Pty pty = zdtm::open_pty();
    SYS(close(SYS(open(pty.path.c_str(), O_RDWR))));  // the first process leads its session
    const int own = SYS(open("/dev/tty", O_RDWR | O_NONBLOCK));
    const int reader = SYS(open("/dev/tty", O_RDONLY));
    SYS(close(pty.master));
    const pid_t child = zdtm::check_hung_up(me, reader, own);
    CHECK(open("/dev/tty", O_RDWR) == -1 && errno == ENXIO, "there is a terminal");
    me.finish(child);
}
