// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused socket:\[[0-9]+\]\) is bound to /mnt/place/socket, where another mount lies over it
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a socket whose file lies in a directory on which something has been mounted since") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    SYS(mkdir("/mnt/place", 0700));
    const int server = SYS(socket(AF_UNIX, SOCK_STREAM, 0));
    const sockaddr_un address{AF_UNIX, "/mnt/place/socket"};
    SYS(bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
    zdtm::mount_on("/mnt/place", "tmpfs");
    me.wait_for_check();
}
