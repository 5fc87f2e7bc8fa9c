// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("a deleted fifo with data") {
    SYS(mkfifo("fifo", 0600));
    const int reader = SYS(open("fifo", O_RDONLY | O_NONBLOCK));
    const int writer = SYS(open("fifo", O_WRONLY));
    SYS(unlink("fifo"));
    CHECK(write(writer, "data", 4) == 4, "%s", strerror(errno));
    struct stat before {};
    SYS(fstat(reader, &before));
    me.wait_for_check();

    struct stat now {};
    SYS(fstat(reader, &now));
    CHECK(now.st_mtim.tv_sec == before.st_mtim.tv_sec && now.st_mtim.tv_nsec / 1000 == before.st_mtim.tv_nsec / 1000,
          "the fifo has another modification time");
    char text[16] = {};
    CHECK(read(reader, text, sizeof text) == 4 && memcmp(text, "data", 4) == 0, "read %s", text);
    CHECK(write(writer, "more", 4) == 4 && read(reader, text, sizeof text) == 4, "the ends aren't connected");
    CHECK(access("fifo", F_OK) == -1, "the fifo has its name back");
}
