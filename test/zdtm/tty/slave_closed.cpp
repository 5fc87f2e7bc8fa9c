// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 after it, masters wait for slaves that are gone
#include <poll.h>

#include "pty.hpp"

namespace {

short state_of(int master) {
    pollfd state{master, POLLIN, 0};
    SYS(poll(&state, 1, 0));
    return state.revents;
}

}  // namespace

ZDTM("masters whose slave is closed, with and without unread output, and one whose slave was never open") {
    const zdtm::Pty closed = zdtm::open_pty();
    const zdtm::Pty spoke = zdtm::open_pty();
    const zdtm::Pty never = zdtm::open_pty();
    SYS(close(zdtm::open_slave(closed)));
    const int slave = zdtm::open_slave(spoke);
    zdtm::write_text(slave, "bye");
    SYS(close(slave));

    me.wait_for_check();

    char byte = 0;
    CHECK(state_of(never.master) == 0, "state 0x%x", state_of(never.master));
    CHECK((state_of(closed.master) & POLLHUP) != 0, "state 0x%x", state_of(closed.master));
    CHECK(read(closed.master, &byte, 1) == -1 && errno == EIO, "read: %s", strerror(errno));
    char last[8] = {};
    CHECK(SYS(read(spoke.master, last, sizeof last)) == 3 && memcmp(last, "bye", 3) == 0, "'%s'", last);
    CHECK(read(spoke.master, &byte, 1) == -1 && errno == EIO, "read: %s", strerror(errno));
    const int again = zdtm::open_slave(closed);
    CHECK(state_of(closed.master) == 0, "state 0x%x", state_of(closed.master));
    SYS(close(again));
}
