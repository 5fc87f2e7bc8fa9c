// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, planted
// zdtm: plant mkdir outside; cp -a mine/of_root mine/copy; mv mine/of_root outside/kept; mv mine/copy mine/of_root
// zdtm: unplant mv outside/kept mine/of_root; rmdir outside
// zdtm: refused-with mine/of_root, which its process may not open by itself
#include <fcntl.h>

#include "other_user.hpp"

ZDTM("a restore opens root's file in a user's directory only if it is the same inode") {
    zdtm::make_users_directory("mine");
    zdtm::write_file("mine/of_root", "0123456789");
    SYS(chmod("mine/of_root", 0600));
    const int file = SYS(open("mine/of_root", O_RDWR));
    zdtm::become_user();
    me.wait_for_check();

    char text[11] = {};
    CHECK(read(file, text, 10) == 10 && strcmp(text, "0123456789") == 0, "read %s", text);
}
