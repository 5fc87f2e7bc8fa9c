// SPDX-License-Identifier: GPL-2.0-only
#include "pty.hpp"

ZDTM("slaves whose master was closed give an end of file and can't be written") {
    const zdtm::Pty pty = zdtm::open_pty();
    const int reader = zdtm::open_slave(pty, O_RDONLY);
    const int writer = zdtm::open_slave(pty, O_WRONLY | O_NONBLOCK);
    SYS(close(pty.master));
    const pid_t child = me.start_child([=](zdtm::Task& task) {
        task.wait_for_check();
        char byte = 0;
        CHECK(SYS(read(reader, &byte, 1)) == 0, "no end of file");
    });
    me.wait_for_check();
    char byte = 0;
    CHECK(SYS(read(reader, &byte, 1)) == 0, "no end of file");
    CHECK(write(writer, "x", 1) == -1 && errno == EIO, "write: %s", strerror(errno));
    termios settings{};
    CHECK(tcgetattr(reader, &settings) == -1 && errno == EIO, "tcgetattr: %s", strerror(errno));
    me.finish(child);
}
