// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

// Functions for blobs that send and receive packets with descriptors by a Unix socket. Each returns a value or -errno.

#include <compel/blob/syscall.hpp>
#include <compel/channel_protocol.hpp>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cstddef>
#include <span>

namespace compel::blob {

struct FdMessage {
    alignas(cmsghdr) std::byte bytes[CMSG_SPACE(sizeof(int) * protocol::maximumFds)];
};

/// Sends `head` and `tail` as one packet with the descriptors `fds`. Returns the number of bytes, or -errno.
inline long sendPacket(int socket, std::span<const std::byte> head, std::span<const std::byte> tail = {},
                       std::span<const int> fds = {}) {
    iovec parts[2] = {{const_cast<std::byte*>(head.data()), head.size()},
                      {const_cast<std::byte*>(tail.data()), tail.size()}};
    FdMessage control;
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    if (!fds.empty()) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(fds.size_bytes());
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(fds.size_bytes());
        __builtin_memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
    }
    return syscall(SYS_sendmsg, socket, &message, MSG_NOSIGNAL);
}

struct ReceivedPacket {
    long size;  ///< number of received bytes, or -errno; 0 if the other end is closed
    std::size_t fdCount;
    bool fdsLost;  ///< true if this process had too few free descriptors
};

/// Receives one packet with at most protocol::maximumFds descriptors. The descriptors are close-on-exec.
inline ReceivedPacket receivePacket(int socket, std::span<std::byte> into, std::span<int, protocol::maximumFds> fds) {
    iovec part{into.data(), into.size()};
    FdMessage control;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
    const long size = syscall(SYS_recvmsg, socket, &message, MSG_CMSG_CLOEXEC);
    if (isError(size))
        return {size, 0, false};
    std::size_t count = 0;
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        __builtin_memcpy(fds.data(), CMSG_DATA(header), count * sizeof(int));
    }
    return {size, count, (message.msg_flags & MSG_CTRUNC) != 0};
}

}  // namespace compel::blob
