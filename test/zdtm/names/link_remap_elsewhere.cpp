// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: dump-options --link-remap
// zdtm: refused sub is a symbolic link that others may have put there
#include <fcntl.h>

#include "other_user.hpp"

ZDTM("a dump doesn't make a temporary link in a directory that a user's link leads to") {
    SYS(mkdir("outside", 0700));
    zdtm::make_users_directory("mine");
    zdtm::make_users_directory("mine/sub");
    zdtm::become_user();
    zdtm::write_file("mine/sub/name", "content");
    SYS(link("mine/sub/name", "mine/other"));
    const int file = SYS(open("mine/sub/name", O_RDWR));
    SYS(unlink("mine/sub/name"));
    SYS(rmdir("mine/sub"));
    SYS(symlink("../outside", "mine/sub"));
    me.wait_for_check();

    char text[8] = {};
    CHECK(read(file, text, 7) == 7 && strcmp(text, "content") == 0, "read %s", text);
}
