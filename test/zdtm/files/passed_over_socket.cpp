// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/socket.h>

#include "zdtm.hpp"

namespace {
void send_descriptor(int socket, int fd) {
    char byte = 'f';
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    SYS(sendmsg(socket, &message, 0));
}

int receive_descriptor(int socket) {
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    SYS(recvmsg(socket, &message, 0));
    int fd = -1;
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}
}  // namespace

ZDTM("a child opened a file and passed it to the parent; both share the description, and the socket is closed") {
    zdtm::write_file("data", "0123456789");
    int sockets[2];
    SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        const int file = SYS(open("data", O_RDONLY));
        SYS(lseek(file, 4, SEEK_SET));
        send_descriptor(sockets[1], file);
        SYS(close(sockets[0]));
        SYS(close(sockets[1]));
        task.wait_for_check();
        char byte = 0;
        CHECK(read(file, &byte, 1) == 1 && byte == '5', "the child read %c", byte);
    });
    const int file = receive_descriptor(sockets[0]);
    SYS(close(sockets[0]));
    SYS(close(sockets[1]));
    me.wait_for_check();

    char byte = 0;
    CHECK(read(file, &byte, 1) == 1 && byte == '4', "read %c", byte);
    me.finish(child);
    CHECK(read(file, &byte, 1) == 1 && byte == '6', "read %c", byte);
}
