// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <grp.h>
#include <sys/ioctl.h>

#include "zdtm.hpp"

ZDTM("a pseudoterminal that processes of two users share") {
    const int master = SYS(posix_openpt(O_RDWR | O_NOCTTY));
    SYS(grantpt(master));
    SYS(unlockpt(master));
    unsigned number = 0;
    SYS(ioctl(master, TIOCGPTN, &number));
    pid_t children[2];
    for (const uid_t user : {1000U, 1001U}) {
        children[user - 1000] = me.start_child([user, master](zdtm::Task& task) {
            SYS(setgroups(0, nullptr));
            SYS(setresgid(user, user, user));
            SYS(setresuid(user, user, user));
            task.wait_for_check();
            unsigned now = 0;
            CHECK(ioctl(master, TIOCGPTN, &now) == 0, "%s", strerror(errno));
        });
    }
    me.wait_for_check();
    unsigned now = 0;
    SYS(ioctl(master, TIOCGPTN, &now));
    CHECK(now == number, "the pseudoterminal has number %u, not %u", now, number);
    for (const pid_t child : children) {
        me.finish(child);
    }
}
