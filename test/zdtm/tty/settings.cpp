// SPDX-License-Identifier: GPL-2.0-only
#include <sys/stat.h>

#include "pty.hpp"

ZDTM("line settings, window size, owner and permissions of a pseudoterminal") {
    const zdtm::Pty pty = zdtm::open_pty();
    const int slave = zdtm::open_slave(pty);
    const int second = zdtm::open_slave(pty, O_RDONLY | O_NONBLOCK);
    termios before = zdtm::settings_of(slave);
    before.c_iflag |= IXOFF | ISTRIP;
    before.c_oflag &= ~static_cast<tcflag_t>(OPOST);
    before.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    before.c_lflag |= NOFLSH;
    before.c_cc[VERASE] = 'x';
    before.c_cc[VMIN] = 7;
    SYS(cfsetspeed(&before, B19200));
    SYS(tcsetattr(slave, TCSANOW, &before));
    const winsize size{31, 77, 310, 770};
    SYS(ioctl(pty.master, TIOCSWINSZ, &size));
    SYS(fchown(slave, 12, 34));
    SYS(fchmod(slave, 0622));

    me.wait_for_check();

    const termios after = zdtm::settings_of(second);
    CHECK(after.c_iflag == before.c_iflag, "%o, not %o", after.c_iflag, before.c_iflag);
    CHECK(after.c_oflag == before.c_oflag, "%o, not %o", after.c_oflag, before.c_oflag);
    CHECK(after.c_cflag == before.c_cflag, "%o, not %o", after.c_cflag, before.c_cflag);
    CHECK(after.c_lflag == before.c_lflag, "%o, not %o", after.c_lflag, before.c_lflag);
    CHECK(memcmp(after.c_cc, before.c_cc, sizeof after.c_cc) == 0, "other control characters");
    winsize now{};
    SYS(ioctl(slave, TIOCGWINSZ, &now));
    CHECK(now.ws_row == 31 && now.ws_col == 77 && now.ws_xpixel == 310 && now.ws_ypixel == 770, "%d by %d", now.ws_row,
          now.ws_col);
    struct stat stat {};
    SYS(fstat(slave, &stat));
    CHECK(stat.st_uid == 12 && stat.st_gid == 34 && (stat.st_mode & 07777) == 0622, "owner %d.%d, mode %o", stat.st_uid,
          stat.st_gid, stat.st_mode);
    zdtm::write_text(pty.master, "0123456");
    zdtm::await_bytes(slave, 0);
    zdtm::write_text(pty.master, "\n");
    zdtm::await_bytes(slave, 8);
    CHECK(zdtm::read_now(second) == "0123456\n", "wrong line");
}
