// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2(to-other) its restored children of a session leader have no terminal
#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <filesystem>
#include <functional>

#include "zdtm.hpp"

ZDTM("a session on a virtual terminal with its settings, and a console") {
    // Other runs of this program may use other terminals at the same time, so the number depends on the directory.
    const std::size_t number = 10 + std::hash<std::string>()(std::filesystem::current_path()) % 50;
    const std::string path = "/dev/tty" + std::to_string(number);
    const int terminal = open(path.c_str(), O_RDWR | O_NONBLOCK);  // the first process leads its session
    termios before{};
    if (terminal == -1 || tcgetattr(terminal, &before) == -1) {
        zdtm::skip("%s: %s", path.c_str(), strerror(errno));
    }
    const pid_t session = getsid(0);
    if (tcgetsid(terminal) != session) {
        zdtm::skip("%s belongs to another session", path.c_str());
    }
    const int console = open("/dev/console", O_RDONLY | O_NOCTTY | O_NONBLOCK);
    termios mine = before;
    mine.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    mine.c_cc[VERASE] = 'x';
    SYS(tcsetattr(terminal, TCSANOW, &mine));
    const pid_t member = me.start_child([session](zdtm::Task& child) {
        child.wait_for_check();
        CHECK(SYS(tcgetsid(SYS(open("/dev/tty", O_RDWR)))) == session, "another session's terminal");
    });
    me.wait_for_check();
    termios now{};
    SYS(tcgetattr(terminal, &now));
    SYS(tcsetattr(terminal, TCSANOW, &before));
    CHECK(now.c_lflag == mine.c_lflag && now.c_cc[VERASE] == 'x', "flags %o, not %o", now.c_lflag, mine.c_lflag);
    CHECK(SYS(tcgetsid(terminal)) == session, "session %d, not %d", tcgetsid(terminal), session);
    if (console != -1) {
        SYS(tcgetattr(console, &now));
    }
    me.finish(member);
}
