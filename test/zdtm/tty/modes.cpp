// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2(to-other) it restores no exclusive mode
#include "pty.hpp"

ZDTM("packet mode, exclusive mode, locked settings and a locked slave") {
    const zdtm::Pty pty = zdtm::open_pty();
    const int slave = zdtm::open_slave(pty);
    const int on = 1;
    SYS(ioctl(pty.master, TIOCPKT, &on));
    SYS(ioctl(slave, TIOCEXCL));
    termios locked{};
    locked.c_lflag = ISIG;
    SYS(ioctl(slave, TIOCSLCKTRMIOS, &locked));
    const zdtm::Pty other = zdtm::open_pty();
    SYS(ioctl(other.master, TIOCSPTLCK, &on));

    me.wait_for_check();

    int value = 0;
    SYS(ioctl(pty.master, TIOCGPKT, &value));
    CHECK(value == 1, "packet mode is off");
    SYS(ioctl(slave, TIOCGEXCL, &value));
    CHECK(value == 1, "exclusive mode is off");
    SYS(ioctl(other.master, TIOCGPTLCK, &value));
    CHECK(value == 1, "the slave is unlocked");
    termios now{};
    SYS(ioctl(slave, TIOCGLCKTRMIOS, &now));
    CHECK(now.c_lflag == ISIG && now.c_iflag == 0, "locked: %o", now.c_lflag);
    zdtm::make_raw(slave);
    CHECK((zdtm::settings_of(slave).c_lflag & (ISIG | ECHO)) == ISIG, "the lock has no effect");
    char packet[8] = {};
    zdtm::write_text(slave, "abc");
    // The kernel may first send a packet that reports changed settings.
    ssize_t got = SYS(read(pty.master, packet, sizeof packet));
    if (got == 1) {
        got = SYS(read(pty.master, packet, sizeof packet));
    }
    CHECK(got == 4 && memcmp(packet, "\0abc", 4) == 0, "%zd bytes", got);
}
