// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it knows only names below the directory
#include <sys/stat.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a relative socket name that leads upwards (..)") {
    SYS(mkdir("inner", 0755));
    SYS(chdir("inner"));
    const auto name = zdtm::Name::path("../upwards");
    const int fd = zdtm::bound_socket(SOCK_DGRAM, name);
    me.wait_for_check();

    const int sender = zdtm::connected_socket(SOCK_DGRAM, name);
    zdtm::check_connected(sender, fd, "by its name");
    CHECK(zdtm::Name::of(fd).shown() == "../upwards", "%s", zdtm::Name::of(fd).shown().c_str());
}
