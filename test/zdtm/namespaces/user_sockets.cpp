// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-users yes
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "zdtm.hpp"

namespace {

void pass_credentials(int fd) {
    char byte = 'c';
    iovec part{&byte, 1};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(ucred))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof(room);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_CREDENTIALS;
    header->cmsg_len = CMSG_LEN(sizeof(ucred));
    const ucred own{getpid(), getuid(), getgid()};
    std::memcpy(CMSG_DATA(header), &own, sizeof(own));
    CHECK(sendmsg(fd, &message, 0) == 1, "%s", strerror(errno));
}

ucred taken_credentials(int fd) {
    char byte = 0;
    iovec part{&byte, 1};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(ucred))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof(room);
    CHECK(recvmsg(fd, &message, MSG_DONTWAIT) == 1 && byte == 'c', "%s", strerror(errno));
    ucred sender{};
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    CHECK(header != nullptr && header->cmsg_type == SCM_CREDENTIALS, "no credentials came");
    std::memcpy(&sender, CMSG_DATA(header), sizeof(sender));
    return sender;
}

}  // namespace

ZDTM("unix sockets in a user namespace: credentials in flight, owners of sockets and of descriptors' signals") {
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
    // Larger than what may be asked for without rights outside.
    const int most = std::atoi(zdtm::read_file("/proc/sys/net/core/rmem_max").c_str());
    SYS(setsockopt(client, SOL_SOCKET, SO_RCVBUF, &most, sizeof(most)));
    int before = 0;
    socklen_t size = sizeof(before);
    SYS(getsockopt(client, SOL_SOCKET, SO_RCVBUF, &before, &size));

    pass_credentials(ends[0]);
    const pid_t user = me.start_child([&](zdtm::Task& task) {
        SYS(setresgid(1001, 1001, 1001));
        SYS(setresuid(1000, 1000, 1000));
        pass_credentials(ends[0]);
        SYS(fcntl(ends[0], F_SETOWN, getpid()));
        task.wait_for_check();
        CHECK(fcntl(ends[0], F_GETOWN) == getpid(), "the owner is %d", fcntl(ends[0], F_GETOWN));
    });

    me.wait_for_check();
    const ucred own = taken_credentials(ends[1]);
    CHECK(own.pid == getpid() && own.uid == 0 && own.gid == 0, "%d %u:%u", own.pid, own.uid, own.gid);
    const ucred theirs = taken_credentials(ends[1]);
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
