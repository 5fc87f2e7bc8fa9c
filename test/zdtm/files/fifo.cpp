// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also damaged
#include <fcntl.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("a fifo with data, its ends in two processes, and a third description opened for reading and writing") {
    SYS(mkfifo("fifo", 0600));
    SYS(mkfifo("both", 0600));
    const int reader = SYS(open("fifo", O_RDONLY | O_NONBLOCK));
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        const int writer = SYS(open("fifo", O_WRONLY));
        CHECK(write(writer, "before", 6) == 6, "%s", strerror(errno));
        SYS(close(reader));
        task.wait_for_check();
        CHECK(write(writer, "after", 5) == 5, "%s", strerror(errno));
    });
    const int both = SYS(open("both", O_RDWR));
    CHECK(write(both, "self", 4) == 4, "%s", strerror(errno));
    me.wait_for_check();

    char text[16] = {};
    CHECK(read(reader, text, sizeof text) == 6 && memcmp(text, "before", 6) == 0, "read %s", text);
    CHECK(read(reader, text, sizeof text) == -1 && errno == EAGAIN, "more data than before");
    me.finish(child);
    CHECK(read(reader, text, sizeof text) == 5 && memcmp(text, "after", 5) == 0, "read %s", text);
    CHECK(read(reader, text, sizeof text) == 0, "someone else holds the write end");
    CHECK(read(both, text, sizeof text) == 4 && memcmp(text, "self", 4) == 0, "read %s", text);
    const int late = SYS(open("both", O_WRONLY | O_NONBLOCK));
    CHECK(write(late, "late", 4) == 4 && read(both, text, sizeof text) == 4, "another fifo: %s", strerror(errno));
}
