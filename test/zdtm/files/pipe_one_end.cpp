// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("pipes with only one open end") {
    int data_left[2];
    int no_reader[2];
    SYS(pipe(data_left));
    SYS(pipe(no_reader));
    CHECK(write(data_left[1], "rest", 4) == 4, "%s", strerror(errno));
    SYS(close(data_left[1]));
    SYS(close(no_reader[0]));
    // Data in a pipe without a reader can be read by a descriptor that is opened by /proc.
    int unread[2];
    SYS(pipe(unread));
    CHECK(write(unread[1], "unread", 6) == 6, "%s", strerror(errno));
    SYS(close(unread[0]));
    SYS(mkfifo("fifo", 0600));
    const int both = SYS(open("fifo", O_RDWR));
    const int fifo = SYS(open("fifo", O_WRONLY));
    CHECK(write(fifo, "fifo", 4) == 4, "%s", strerror(errno));
    SYS(close(both));
    signal(SIGPIPE, SIG_IGN);
    me.wait_for_check();

    char text[8] = {};
    CHECK(read(data_left[0], text, sizeof text) == 4 && memcmp(text, "rest", 4) == 0, "read %s", text);
    CHECK(read(data_left[0], text, sizeof text) == 0, "no end of file");
    CHECK(write(no_reader[1], "x", 1) == -1 && errno == EPIPE, "the pipe has a reader: %s", strerror(errno));
    for (const auto& [end, expected] : {std::pair{unread[1], "unread"}, std::pair{fifo, "fifo"}}) {
        CHECK(write(end, "x", 1) == -1 && errno == EPIPE, "the pipe has a reader: %s", strerror(errno));
        const int reader = SYS(open(("/proc/self/fd/" + std::to_string(end)).c_str(), O_RDONLY | O_NONBLOCK));
        char waiting[16] = {};
        const ssize_t got = read(reader, waiting, sizeof waiting);
        CHECK(got == static_cast<ssize_t>(strlen(expected)) && strcmp(waiting, expected) == 0, "read %zd bytes: %s",
              got, waiting);
    }
}
