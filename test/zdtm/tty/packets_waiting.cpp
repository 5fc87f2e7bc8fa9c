// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it takes the packets' first bytes for data
#include "pty.hpp"

ZDTM("unread output in packet mode") {
    const zdtm::Pty pty = zdtm::open_pty();
    const int slave = zdtm::open_slave(pty);
    const int on = 1;
    SYS(ioctl(pty.master, TIOCPKT, &on));
    zdtm::make_raw(slave);
    zdtm::write_text(slave, "output");
    zdtm::write_text(pty.master, "input");
    zdtm::await_bytes(slave, 5);
    zdtm::await_bytes(pty.master, 6);
    me.wait_for_check();
    char packet[16] = {};
    const ssize_t got = SYS(read(pty.master, packet, sizeof packet));
    CHECK(got == 7 && memcmp(packet, "\0output", 7) == 0, "%zd bytes", got);
    CHECK(zdtm::read_now(slave) == "input", "input differs");
}
