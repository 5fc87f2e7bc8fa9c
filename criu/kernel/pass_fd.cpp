// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/pass_fd.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "criu/base/error.hpp"

namespace criu::kernel {
namespace {

/// Message header with space for one descriptor.
struct Envelope {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    iovec content{};
    msghdr header{};

    Envelope(void* bytes, std::size_t size) : content{bytes, size} {
        header.msg_iov = &content;
        header.msg_iovlen = 1;
    }
    Envelope(const Envelope&) = delete;
    Envelope& operator=(const Envelope&) = delete;

    void makeRoom() {
        header.msg_control = control;
        header.msg_controllen = sizeof(control);
    }
};

ReceivedMessage receive(int socket, std::span<std::byte> bytes, int flags) {
    Envelope envelope(bytes.data(), bytes.size());
    envelope.makeRoom();
    // The kernel fills the whole buffer with descriptors, and the alignment has room for a second one.
    envelope.header.msg_controllen = CMSG_LEN(sizeof(int));
    ssize_t got = -1;
    do
        got = ::recvmsg(socket, &envelope.header, MSG_CMSG_CLOEXEC | flags);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return {};
    sys(got, "receive a message");
    ReceivedMessage received;
    received.size = static_cast<std::size_t>(got);
    if (const cmsghdr* const rights = CMSG_FIRSTHDR(&envelope.header);
        rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
        received.fd.reset(fd);
    }
    received.lost = (envelope.header.msg_flags & MSG_CTRUNC) != 0;
    return received;
}

}  // namespace

void sendMessage(int socket, std::span<const std::byte> bytes, int fd) {
    Envelope envelope(const_cast<std::byte*>(bytes.data()), bytes.size());
    if (fd >= 0) {
        envelope.makeRoom();
        cmsghdr* const rights = CMSG_FIRSTHDR(&envelope.header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(fd));
        std::memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
    }
    constexpr useconds_t kPause = 1000;
    while (::sendmsg(socket, &envelope.header, MSG_NOSIGNAL) < 0) {
        // ETOOMANYREFS: too many descriptors are in flight. Tries again until the receiver has received some of them.
        if (errno != EINTR && errno != ETOOMANYREFS)
            failErrno("hand over fd {}", fd);
        ::usleep(kPause);
    }
}

ReceivedMessage receiveMessage(int socket, std::span<std::byte> bytes) {
    return receive(socket, bytes, 0);
}

ReceivedMessage takeMessage(int socket, std::span<std::byte> bytes) {
    return receive(socket, bytes, MSG_DONTWAIT);
}

ReceivedMessage peekMessage(int socket, std::span<std::byte> bytes) {
    return receive(socket, bytes, MSG_PEEK);
}

}  // namespace criu::kernel
