// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also user-given
// zdtm: own-users yes
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("Unix sockets in a user namespace: credentials in flight, owners of sockets and of descriptors' signals") {
    int ends[2];
    SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
    const int on = 1;
    SYS(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
    sockaddr_un name{AF_UNIX, "socket"};
    const int bound = SYS(socket(AF_UNIX, SOCK_STREAM, 0));
    SYS(bind(bound, reinterpret_cast<sockaddr*>(&name), sizeof(name)));
    SYS(chown("socket", 300, 301));
    SYS(listen(bound, 3));
    const int client = SYS(socket(AF_UNIX, SOCK_STREAM, 0));
    SYS(connect(client, reinterpret_cast<sockaddr*>(&name), sizeof(name)));
    const int accepted = SYS(accept(bound, nullptr, nullptr));
    SYS(write(client, "hello", 5));
    // The kernel stores twice this size. To ask for that, a restore needs CAP_NET_ADMIN outside of the namespace.
    const int most = std::atoi(zdtm::read_file("/proc/sys/net/core/rmem_max").c_str());
    SYS(setsockopt(client, SOL_SOCKET, SO_RCVBUF, &most, sizeof(most)));
    int before = 0;
    socklen_t size = sizeof(before);
    SYS(getsockopt(client, SOL_SOCKET, SO_RCVBUF, &before, &size));

    zdtm::send_message(ends[0], "c");
    const pid_t user = me.start_child([&](zdtm::Task& task) {
        SYS(setresgid(1001, 1001, 1001));
        SYS(setresuid(1000, 1000, 1000));
        zdtm::send_message(ends[0], "c");
        SYS(fcntl(ends[0], F_SETOWN, getpid()));
        task.wait_for_check();
        CHECK(fcntl(ends[0], F_GETOWN) == getpid(), "the owner is %d", fcntl(ends[0], F_GETOWN));
    });

    me.wait_for_check();
    const ucred own = zdtm::receive_credentials(ends[1]);
    CHECK(own.pid == getpid() && own.uid == 0 && own.gid == 0, "%d %u:%u", own.pid, own.uid, own.gid);
    const ucred theirs = zdtm::receive_credentials(ends[1]);
    CHECK(theirs.pid == user && theirs.uid == 1000 && theirs.gid == 1001, "%d %u:%u", theirs.pid, theirs.uid,
          theirs.gid);
    constexpr int get_owner_uids = 17;  // F_GETOWNER_UIDS
    uid_t owners[2] = {};
    SYS(fcntl(ends[0], get_owner_uids, owners));
    CHECK(owners[0] == 1000 && owners[1] == 1000, "uids %u %u", owners[0], owners[1]);
    struct stat now {};
    SYS(stat("socket", &now));
    CHECK(now.st_uid == 300 && now.st_gid == 301, "the socket is of %u:%u", now.st_uid, now.st_gid);
    char text[5];
    CHECK(read(accepted, text, 5) == 5 && std::memcmp(text, "hello", 5) == 0, "other data");
    int after = 0;
    SYS(getsockopt(client, SOL_SOCKET, SO_RCVBUF, &after, &size));
    CHECK(before == after, "a buffer of %d bytes was one of %d", after, before);
    ucred peer{};
    size = sizeof(peer);
    const int again = SYS(socket(AF_UNIX, SOCK_STREAM, 0));
    SYS(connect(again, reinterpret_cast<sockaddr*>(&name), sizeof(name)));
    const int there = SYS(accept(bound, nullptr, nullptr));
    SYS(getsockopt(there, SOL_SOCKET, SO_PEERCRED, &peer, &size));
    CHECK(peer.pid == getpid() && peer.uid == 0, "%d %u", peer.pid, peer.uid);
    me.finish(user);
}
