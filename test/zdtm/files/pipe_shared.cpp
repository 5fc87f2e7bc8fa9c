// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also new-pidns, new-pidns-again
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("pipes between processes, one end each, with unread data and a sleeping reader") {
    int down[2];
    int up[2];
    SYS(pipe(down));
    SYS(pipe(up));
    CHECK(write(down[1], "before", 6) == 6, "%s", strerror(errno));
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        SYS(close(down[1]));
        SYS(close(up[0]));
        task.ready();
        char text[16] = {};
        ssize_t got = 0;
        // Sleeps in read() during the dump, after it has read "before".
        CHECK(read(down[0], text, 6) == 6 && memcmp(text, "before", 6) == 0, "read %s", text);
        while ((got = read(down[0], text, sizeof text)) > 0) {
            CHECK(write(up[1], text, static_cast<std::size_t>(got)) == got, "%s", strerror(errno));
        }
        CHECK(got == 0, "%s", strerror(errno));
        task.wait_trigger();
    });
    SYS(close(down[0]));
    SYS(close(up[1]));
    me.wait_for_check();

    char text[16] = {};
    CHECK(write(down[1], "after", 5) == 5, "%s", strerror(errno));
    CHECK(read(up[0], text, 5) == 5 && memcmp(text, "after", 5) == 0, "read %s", text);
    SYS(close(down[1]));
    me.finish(child);
    CHECK(read(up[0], text, 1) == 0, "someone else holds the pipe's write end");
}
