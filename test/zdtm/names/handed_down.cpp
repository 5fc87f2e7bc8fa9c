// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 without CAP_SYS_RESOURCE it can't read another user's limits
#include <fcntl.h>

#include "other_user.hpp"

ZDTM("files that root opened, in a process of a user who may not open them") {
    SYS(mkdir("closed", 0700));
    zdtm::write_file("closed/data", "0123456789");
    SYS(chmod("closed/data", 0600));
    zdtm::make_users_directory("mine");
    zdtm::write_file("mine/of_root", "0123456789");
    SYS(chmod("mine/of_root", 0600));
    zdtm::make_users_file("mine/shut", "0123456789");
    SYS(chmod("mine/shut", 0));
    const int closed = SYS(open("closed/data", O_RDWR));
    const int of_root = SYS(open("mine/of_root", O_RDWR));
    const int shut = SYS(open("mine/shut", O_RDWR));
    SYS(chdir("closed"));
    zdtm::become_user();
    me.wait_for_check();

    for (const int file : {closed, of_root, shut}) {
        char text[11] = {};
        CHECK(read(file, text, 10) == 10 && strcmp(text, "0123456789") == 0, "read %s", text);
    }
    CHECK(access("data", F_OK) == -1 && errno == EACCES, "he may look around");
}
