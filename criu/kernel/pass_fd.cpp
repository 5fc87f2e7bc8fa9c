// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/pass_fd.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "criu/base/error.hpp"

namespace criu::kernel {
namespace {

/// A message of one byte with room for one descriptor.
struct Letter {
    char byte = 0;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    iovec content{&byte, 1};
    msghdr header{};

    Letter() {
        header.msg_iov = &content;
        header.msg_iovlen = 1;
        header.msg_control = control;
        header.msg_controllen = sizeof(control);
    }
    Letter(const Letter&) = delete;
    Letter& operator=(const Letter&) = delete;
};

}  // namespace

void sendDescriptor(int socket, int fd) {
    Letter letter;
    cmsghdr* const rights = CMSG_FIRSTHDR(&letter.header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(fd));
    std::memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
    sys(::sendmsg(socket, &letter.header, MSG_NOSIGNAL), "hand over fd {}", fd);
}

UniqueFd receiveDescriptor(int socket) {
    Letter letter;
    if (::recvmsg(socket, &letter.header, MSG_CMSG_CLOEXEC) < 0) {
        if (errno == EAGAIN)
            return {};
        failErrno("receive a descriptor");
    }
    const cmsghdr* const rights = CMSG_FIRSTHDR(&letter.header);
    if (rights == nullptr || rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS)
        fail("a message has no descriptor");
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
    return UniqueFd(fd);
}

}  // namespace criu::kernel
