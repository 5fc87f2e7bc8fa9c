// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/common/scm.h>

namespace compel::c {

/// Message that carries descriptors over a Unix socket, with memory for its control data.
class FdMessage {
public:
    FdMessage(void* data, unsigned bytes) {
        part_.iov_base = data != nullptr ? data : &filler_;
        part_.iov_len = data != nullptr ? bytes : sizeof(filler_);
        header_.msg_iov = &part_;
        header_.msg_iovlen = 1;
        header_.msg_control = control_;
    }

    msghdr* toSend(sockaddr_un* address, int addressSize, const int* fds, int count) {
        header_.msg_name = address;
        header_.msg_namelen = address != nullptr ? static_cast<socklen_t>(addressSize) : 0;
        header_.msg_controllen = CMSG_LEN(sizeof(int) * static_cast<unsigned>(count));
        cmsghdr* const head = CMSG_FIRSTHDR(&header_);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = header_.msg_controllen;
        copy(reinterpret_cast<int*>(CMSG_DATA(head)), fds, count);
        return &header_;
    }

    msghdr* toReceive(int count) {
        header_.msg_controllen = CMSG_LEN(sizeof(int) * static_cast<unsigned>(count));
        return &header_;
    }

    /// Returns the number of received descriptors, or -1 for unexpected control data.
    int received(int* fds, int count) {
        const cmsghdr* const head = CMSG_FIRSTHDR(&header_);
        if (head == nullptr || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
            return -1;
        const int found = static_cast<int>((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        if (found <= 0 || found > count)
            return -1;
        copy(fds, reinterpret_cast<const int*>(CMSG_DATA(head)), found);
        return found;
    }

    [[nodiscard]] bool isCutOff() const { return (header_.msg_flags & MSG_CTRUNC) != 0; }

private:
    static void copy(int* to, const int* from, int count) {
        for (int index = 0; index < count; ++index)
            to[index] = from[index];
    }

    msghdr header_ = {};
    iovec part_ = {};
    // Byte to send if the caller has no data, because a message without bytes can't carry descriptors.
    char filler_ = 0;
    alignas(cmsghdr) char control_[CMSG_SPACE(sizeof(int) * CR_SCM_MAX_FD)] = {};
};

/// Sends descriptors in as many messages as needed. `send`: calls sendmsg(2) and returns its result, or -errno.
template <typename Send>
int sendFds(const Send& send, sockaddr_un* address, int addressSize, const int* fds, int count, void* data,
            unsigned sizeEach) {
    auto* bytes = static_cast<char*>(data);
    for (int sent = 0; sent < count;) {
        const int now = count - sent < CR_SCM_MAX_FD ? count - sent : CR_SCM_MAX_FD;
        const unsigned size = static_cast<unsigned>(now) * sizeEach;
        FdMessage message(bytes, size);
        const long result = send(message.toSend(address, addressSize, fds + sent, now));
        if (result <= 0)
            return result < 0 ? static_cast<int>(result) : -EIO;
        sent += now;
        if (bytes != nullptr)
            bytes += size;
    }
    return 0;
}

template <typename Receive>
int receiveFds(const Receive& receive, int* fds, int count, void* data, unsigned sizeEach) {
    auto* bytes = static_cast<char*>(data);
    for (int got = 0; got < count;) {
        const int now = count - got < CR_SCM_MAX_FD ? count - got : CR_SCM_MAX_FD;
        FdMessage message(bytes, static_cast<unsigned>(now) * sizeEach);
        const long result = receive(message.toReceive(now));
        if (result <= 0)
            return result < 0 ? static_cast<int>(result) : -ENOMSG;
        const int found = message.received(fds + got, now);
        if (found < 0)
            return -EINVAL;
        if (message.isCutOff())
            return -ENFILE;
        got += found;
        if (bytes != nullptr)
            bytes += static_cast<unsigned>(found) * sizeEach;
    }
    return 0;
}

}  // namespace compel::c
