// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 sockets become root's
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <vector>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("the user and the group that Internet sockets belong to") {
    std::vector<int> sockets;
    for (const int type : {SOCK_STREAM, SOCK_DGRAM})
        for (const int family : {AF_INET, AF_INET6})
            sockets.push_back(SYS(socket(family, type, 0)));
    for (const int fd : sockets)
        SYS(fchown(fd, 1100, 1101));
    const int of_group = SYS(socket(AF_INET, SOCK_DGRAM, 0));
    SYS(fchown(of_group, 0, 1101));
    me.wait_for_check();

    struct stat now {};
    for (const int fd : sockets) {
        SYS(fstat(fd, &now));
        CHECK(now.st_uid == 1100 && now.st_gid == 1101, "%u:%u", now.st_uid, now.st_gid);
    }
    SYS(fstat(of_group, &now));
    CHECK(now.st_uid == 0 && now.st_gid == 1101, "%u:%u", now.st_uid, now.st_gid);
}
