// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once
// zdtm: warns bound to .*/aside, which has 1 further name elsewhere
#include <sys/stat.h>
#include <unistd.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a dump warns about a hard link of a socket's file in another directory, which a restore can't create") {
    const int aside = zdtm::listening_socket(SOCK_STREAM, zdtm::Name::path("aside"));
    SYS(mkdir("folder", 0755));
    SYS(link("aside", "folder/aside"));
    me.wait_for_check();

    const int fresh = zdtm::connected_socket(SOCK_STREAM, zdtm::Name::path("aside"));
    zdtm::check_connected(fresh, SYS(accept(aside, nullptr, nullptr)), "aside");
}
