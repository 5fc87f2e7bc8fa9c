// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, planted
// zdtm: plant mkdir -m 755 outside; cp mine/data outside/data; chmod 600 outside/data; chown 0:0 outside/data; mv mine/data mine/away; ln "$PWD/outside/data" mine/data
// zdtm: unplant rm mine/data; mv mine/away mine/data; rm -r outside
// zdtm: refused-with watch .*/mine/data, which its process may not read by itself
#include <sys/inotify.h>

#include "other_user.hpp"

ZDTM("a restore doesn't watch a file of root that now has the name of a user's watched file") {
    zdtm::make_users_directory("mine");
    zdtm::make_users_file("mine/data", "x");
    zdtm::become_user();
    const int file = SYS(inotify_init1(IN_NONBLOCK));
    SYS(inotify_add_watch(file, "mine/data", IN_OPEN));
    me.wait_for_check();

    zdtm::read_file("mine/data");
    char event[sizeof(inotify_event) + 256];
    CHECK(read(file, event, sizeof(event)) == sizeof(inotify_event), "%s", strerror(errno));
}
