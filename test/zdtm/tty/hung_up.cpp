// SPDX-License-Identifier: GPL-2.0-only
#include "pty.hpp"

ZDTM("slaves with a closed master return end of file and can't be written") {
    const zdtm::Pty pty = zdtm::open_pty();
    const int reader = zdtm::open_slave(pty, O_RDONLY);
    const int writer = zdtm::open_slave(pty, O_WRONLY | O_NONBLOCK);
    SYS(close(pty.master));
    const pid_t child = zdtm::check_hung_up(me, reader, writer);
    termios settings{};
    CHECK(tcgetattr(reader, &settings) == -1 && errno == EIO, "tcgetattr: %s", strerror(errno));
    me.finish(child);
}
