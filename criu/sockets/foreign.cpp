// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/foreign.hpp"

#include <sys/socket.h>

#include "criu/base/error.hpp"
#include "criu/kernel/namespace_visit.hpp"

namespace criu::sockets {
namespace {

constexpr int kNetworkCookie = 71;  // SO_NETNS_COOKIE (5.14)

/// Nothing: the kernel is older.
std::optional<std::uint64_t> cookieOf(int socket) {
    std::uint64_t cookie = 0;
    socklen_t size = sizeof(cookie);
    if (::getsockopt(socket, SOL_SOCKET, kNetworkCookie, &cookie, &size) != 0)
        return std::nullopt;
    return cookie;
}

[[noreturn]] void failForeign(const files::OpenFd& file) {
    fail("{} is a socket of another network namespace, which can't be dumped", file.describe());
}

}  // namespace

void refuseForeign(const files::OpenFd& file) {
    if (kernel::isOfOtherNetwork(file.copy.get()))
        failForeign(file);
}

void ForeignSockets::refuse(const files::OpenFd& file) {
    if (!own_) {
        const UniqueFd fresh(sys(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "create a socket"));
        own_ = cookieOf(fresh.get()).value_or(0);
    }
    if (*own_ == 0)
        return refuseForeign(file);
    if (cookieOf(file.copy.get()) != own_)
        failForeign(file);
}

}  // namespace criu::sockets
