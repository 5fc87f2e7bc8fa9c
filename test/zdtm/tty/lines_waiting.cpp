// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also dump-killed
// zdtm: fails-with-4.2 it loses unfinished lines and ends of file, and translates what was written a second time
#include "pty.hpp"

ZDTM("unread lines keep their ends, and an unfinished line can still be edited") {
    const zdtm::Pty pty = zdtm::open_pty();
    const int slave = zdtm::open_slave(pty);
    // The terminal echoes typed text to the master with carriage returns. A restore must not add them a second time.
    zdtm::write_text(pty.master, "one\ntwo\026\003\n");
    zdtm::write_text(pty.master, "no newline\004\004unfin");
    zdtm::await_bytes(slave, 19);
    zdtm::write_text(slave, "said\n");
    const char* const echoed = "one\r\ntwo^\b^C\r\nno newlineunfinsaid\r\n";
    zdtm::await_bytes(pty.master, static_cast<int>(strlen(echoed)));

    me.wait_for_check();

    const std::string output = zdtm::read_now(pty.master);
    CHECK(output == echoed, "'%s'", output.c_str());
    CHECK(zdtm::read_now(slave) == "one\n", "first line");
    CHECK(zdtm::read_now(slave) == "two\003\n", "second line");
    CHECK(zdtm::read_now(slave) == "no newline", "line that ended without a newline");
    char byte = 0;
    CHECK(SYS(read(slave, &byte, 1)) == 0, "no end of file");
    zdtm::await_bytes(slave, 0);
    zdtm::write_text(pty.master, "\177\177ished\n");
    zdtm::await_bytes(slave, 9);
    const std::string last = zdtm::read_now(slave);
    CHECK(last == "unfished\n", "'%s'", last.c_str());
}
