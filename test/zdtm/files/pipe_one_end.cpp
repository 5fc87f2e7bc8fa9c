// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

ZDTM("pipes with only one open end") {
    int data_left[2];
    int no_reader[2];
    SYS(pipe(data_left));
    SYS(pipe(no_reader));
    CHECK(write(data_left[1], "rest", 4) == 4, "%s", strerror(errno));
    SYS(close(data_left[1]));
    SYS(close(no_reader[0]));
    signal(SIGPIPE, SIG_IGN);
    me.wait_for_check();

    char text[8] = {};
    CHECK(read(data_left[0], text, sizeof text) == 4 && memcmp(text, "rest", 4) == 0, "read %s", text);
    CHECK(read(data_left[0], text, sizeof text) == 0, "no end of file");
    CHECK(write(no_reader[1], "x", 1) == -1 && errno == EPIPE, "the pipe has a reader: %s", strerror(errno));
}
