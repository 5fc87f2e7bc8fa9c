// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/plugins/std.h>

#include <cerrno>

#include "compel/c/fd_message.hpp"

namespace {

template <typename Call>
long repeated(const Call& call) {
    long result;
    do
        result = call();
    while (result == -EINTR);
    return result;
}

}  // namespace

extern "C" {

int send_fds(int sock, sockaddr_un* address, int address_size, int* fds, int count, void* data, unsigned size_each) {
    const auto send = [&](const msghdr* message) {
        return repeated([&] { return sys_sendmsg(sock, message, MSG_NOSIGNAL); });
    };
    return compel::c::sendFds(send, address, address_size, fds, count, data, size_each);
}

int __recv_fds(int sock, int* fds, int count, void* data, unsigned size_each, int flags) {
    const auto receive = [&](msghdr* message) { return repeated([&] { return sys_recvmsg(sock, message, flags); }); };
    return compel::c::receiveFds(receive, fds, count, data, size_each);
}
}
