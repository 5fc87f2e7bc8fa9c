// SPDX-License-Identifier: GPL-2.0-only
#include <vector>

#include "pty.hpp"

ZDTM("bytes of all values are unread in both directions of a raw pseudoterminal") {
    const zdtm::Pty pty = zdtm::open_pty();
    const int slave = zdtm::open_slave(pty);
    zdtm::make_raw(slave);
    std::string there;
    std::string back;
    for (int i = 0; i < 3000; ++i) {
        there += static_cast<char>(i);
        back += static_cast<char>(i * 7);
    }
    zdtm::write_text(pty.master, there);
    zdtm::write_text(slave, back);
    zdtm::await_bytes(slave, 3000);
    zdtm::await_bytes(pty.master, 3000);

    me.wait_for_check();

    CHECK(zdtm::read_now(slave) == there, "input differs");
    CHECK(zdtm::read_now(pty.master) == back, "output differs");
}
