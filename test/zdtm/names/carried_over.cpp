// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 without CAP_SYS_RESOURCE it can't read another user's limits
// zdtm: between cp -a data copy; mv copy data; cp -a closed new; rm -r closed; mv new closed; cp -a mine new; rm -r mine; mv new mine
#include <fcntl.h>

#include "other_user.hpp"

ZDTM("files have other inodes at the restore, as after a copy to another machine") {
    zdtm::write_file("data", "0123456789");
    SYS(chmod("data", 0644));
    SYS(mkdir("closed", 0700));
    zdtm::write_file("closed/data", "0123456789");
    zdtm::make_users_directory("mine");
    zdtm::make_users_file("mine/data", "0123456789");
    const int readable = SYS(open("data", O_RDONLY));
    const int writable = SYS(open("data", O_RDWR | O_APPEND));
    const int closed = SYS(open("closed/data", O_RDWR));
    zdtm::become_user();
    const int own = SYS(open("mine/data", O_RDWR));
    me.wait_for_check();

    for (const int file : {readable, closed, own}) {
        char text[11] = {};
        CHECK(read(file, text, 10) == 10 && strcmp(text, "0123456789") == 0, "read %s", text);
    }
    CHECK(write(writable, "x", 1) == 1, "%s", strerror(errno));
}
