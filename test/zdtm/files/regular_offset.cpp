// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("regular files keep offset, access mode, append and close-on-exec") {
    zdtm::write_file("data", "0123456789");
    const int reader = SYS(open("data", O_RDONLY | O_CLOEXEC));
    SYS(lseek(reader, 4, SEEK_SET));
    const int writer = SYS(open("data", O_WRONLY));
    SYS(lseek(writer, 7, SEEK_SET));
    zdtm::write_file("log", "a");
    const int appender = SYS(open("log", O_RDWR | O_APPEND | O_NONBLOCK));
    me.wait_for_check();

    CHECK((fcntl(reader, F_GETFD) & FD_CLOEXEC) != 0, "close-on-exec was lost");
    CHECK((fcntl(writer, F_GETFD) & FD_CLOEXEC) == 0, "close-on-exec appeared");
    CHECK((fcntl(reader, F_GETFL) & O_ACCMODE) == O_RDONLY, "flags 0%o", fcntl(reader, F_GETFL));
    CHECK((fcntl(writer, F_GETFL) & O_ACCMODE) == O_WRONLY, "flags 0%o", fcntl(writer, F_GETFL));
    const int flags = fcntl(appender, F_GETFL);
    CHECK((flags & (O_ACCMODE | O_APPEND | O_NONBLOCK)) == (O_RDWR | O_APPEND | O_NONBLOCK), "flags 0%o", flags);

    char text[4] = {};
    CHECK(read(reader, text, 3) == 3 && memcmp(text, "456", 3) == 0, "read %s", text);
    CHECK(write(writer, "x", 1) == 1, "%s", strerror(errno));
    CHECK(zdtm::read_file("data") == "0123456x89", "%s", zdtm::read_file("data").c_str());
    SYS(lseek(appender, 0, SEEK_SET));
    CHECK(write(appender, "b", 1) == 1, "%s", strerror(errno));
    CHECK(zdtm::read_file("log") == "ab", "%s", zdtm::read_file("log").c_str());
}
