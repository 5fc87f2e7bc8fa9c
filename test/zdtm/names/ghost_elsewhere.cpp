// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, planted
// zdtm: plant mkdir -m 700 outside; mv mine/sub mine/away; ln -s "$PWD/outside" mine/sub
// zdtm: unplant rm mine/sub; mv mine/away mine/sub; rmdir outside
// zdtm: refused-with sub is a symbolic link that others may have put there
#include <fcntl.h>

#include "other_user.hpp"

ZDTM("a restore doesn't create a deleted file in a directory that a user's link leads to") {
    zdtm::make_users_directory("mine");
    zdtm::make_users_directory("mine/sub");
    zdtm::become_user();
    zdtm::write_file("mine/sub/gone", "0123456789");
    const int file = SYS(open("mine/sub/gone", O_RDWR));
    SYS(unlink("mine/sub/gone"));
    me.wait_for_check();

    char text[11] = {};
    CHECK(read(file, text, 10) == 10 && strcmp(text, "0123456789") == 0, "read %s", text);
}
