// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("three processes have both ends of a pipe, duplicated and with different flags") {
    int ends[2];
    SYS(pipe(ends));
    SYS(fcntl(ends[0], F_SETFL, O_NONBLOCK));
    SYS(fcntl(ends[1], F_SETFD, FD_CLOEXEC));
    const auto write_one = [&](zdtm::Task& task) {
        const int twin = SYS(dup(ends[1]));
        SYS(close(ends[1]));
        task.wait_for_check();
        CHECK((fcntl(ends[0], F_GETFL) & O_NONBLOCK) != 0, "the read end blocks");
        CHECK((fcntl(twin, F_GETFL) & O_NONBLOCK) == 0, "the write end does not block");
        CHECK(write(twin, "c", 1) == 1, "%s", strerror(errno));
    };
    const pid_t first = me.start_child(write_one);
    const pid_t second = me.start_child(write_one);
    CHECK(write(ends[1], "p", 1) == 1, "%s", strerror(errno));
    me.wait_for_check();

    CHECK((fcntl(ends[1], F_GETFD) & FD_CLOEXEC) != 0, "close-on-exec was lost");
    me.finish(first);
    me.finish(second);
    char text[8] = {};
    CHECK(read(ends[0], text, sizeof text) == 3 && memcmp(text, "pcc", 3) == 0, "read %s", text);
    SYS(close(ends[1]));
    CHECK(read(ends[0], text, 1) == 0, "someone else holds the write end");
}
