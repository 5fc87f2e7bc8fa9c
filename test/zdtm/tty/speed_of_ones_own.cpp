// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it leaves out speeds
#include <asm/termbits.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include "zdtm.hpp"

ZDTM("a line speed without a standard constant (BOTHER)") {
    const int master = SYS(open("/dev/ptmx", O_RDWR | O_NOCTTY));
    termios2 settings{};
    SYS(ioctl(master, TCGETS2, &settings));
    settings.c_cflag = (settings.c_cflag & ~tcflag_t{CBAUD}) | BOTHER;
    settings.c_ospeed = settings.c_ispeed = 12345;
    SYS(ioctl(master, TCSETS2, &settings));
    me.wait_for_check();
    termios2 now{};
    SYS(ioctl(master, TCGETS2, &now));
    CHECK((now.c_cflag & CBAUD) == BOTHER && now.c_ospeed == 12345, "flags %o, speed %u", now.c_cflag, now.c_ospeed);
}
