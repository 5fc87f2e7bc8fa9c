// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,leave-running
// zdtm: warns keyboard mode and the graphics mode of the virtual terminal aren't kept.*loss: terminals
// zdtm: fails-with-4.2 it says nothing
// zdtm: not-in all-killed, dump-killed
#include <fcntl.h>
#include <linux/kd.h>
#include <sys/ioctl.h>

#include <filesystem>
#include <functional>

#include "zdtm.hpp"

ZDTM("a dump warns of a virtual terminal whose keyboard is raw") {
    // virtual_terminal uses terminals 10 to 59 at the same time. Other runs of this program may use other terminals.
    const std::size_t number = 60 + std::hash<std::string>()(std::filesystem::current_path()) % 4;
    const std::string path = "/dev/tty" + std::to_string(number);
    const int terminal = open(path.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK);
    int before = 0;
    if (terminal == -1 || ioctl(terminal, KDGKBMODE, &before) == -1 || ioctl(terminal, KDSKBMODE, K_RAW) == -1) {
        zdtm::skip("%s: %s", path.c_str(), strerror(errno));
    }
    me.wait_for_check();
    SYS(ioctl(terminal, KDSKBMODE, before));
}
