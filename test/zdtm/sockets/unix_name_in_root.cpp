// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it takes the name for one below the tree's root directory
#include <sys/stat.h>
#include <unistd.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a socket that was bound to an absolute path in another root directory") {
    SYS(mkdir("jail", 0755));
    SYS(mkdir("jail/run", 0755));
    const auto inside = zdtm::Name::path("/run/server.of.zdtm");
    const pid_t server = me.start_child([&](zdtm::Task& task) {
        SYS(chroot("jail"));
        SYS(chdir("/"));
        const int listener = zdtm::listening_socket(SOCK_STREAM, inside);
        const int client = zdtm::connected_socket(SOCK_STREAM, inside);
        const int accepted = SYS(accept(listener, nullptr, nullptr));
        task.wait_for_check();
        zdtm::check_connected(client, accepted, "the connection of before");
        const int fresh = zdtm::connected_socket(SOCK_STREAM, inside);
        zdtm::check_connected(fresh, SYS(accept(listener, nullptr, nullptr)), "by its name");
    });
    me.wait_for_check();

    CHECK(access("/run/server.of.zdtm", F_OK) == -1, "it was made outside of that root directory");
    CHECK(access("jail/run/server.of.zdtm", F_OK) == 0, "it isn't in that root directory");
    me.finish(server);
}
