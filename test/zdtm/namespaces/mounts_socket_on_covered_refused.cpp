// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused socket:\[[0-9]+\]\) is bound to /mnt/own/socket, where another mount lies over it
#include <sys/socket.h>
#include <sys/un.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a socket whose file is on a mount that another covers") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    zdtm::mount_on("/mnt/own", "tmpfs");
    const int server = SYS(socket(AF_UNIX, SOCK_STREAM, 0));
    const sockaddr_un address{AF_UNIX, "/mnt/own/socket"};
    SYS(bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
    zdtm::mount_on("/mnt/own", "tmpfs");
    me.wait_for_check();
}
