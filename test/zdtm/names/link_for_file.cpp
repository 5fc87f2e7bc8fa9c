// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, planted
// zdtm: plant mkdir -m 700 outside; cp mine/data outside/data; chmod 600 outside/data; chown 0:0 outside/data; mv mine/data mine/away; ln -s "$PWD/outside/data" mine/data
// zdtm: unplant rm mine/data; mv mine/away mine/data; rm -r outside
// zdtm: refused-with mine/data, which its process may not open by itself
#include <fcntl.h>

#include "other_user.hpp"

ZDTM("a restore doesn't open a user's file that is now a link to root's file") {
    zdtm::make_users_directory("mine");
    zdtm::make_users_file("mine/data", "0123456789");
    zdtm::become_user();
    const int file = SYS(open("mine/data", O_RDWR));
    me.wait_for_check();

    char text[11] = {};
    CHECK(read(file, text, 10) == 10 && strcmp(text, "0123456789") == 0, "read %s", text);
}
