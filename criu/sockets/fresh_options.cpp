// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/fresh_options.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "criu/sockets/inet_options.hpp"

namespace criu::sockets {
namespace {

/// Options of Internet sockets that criu changes before it restores options: bind(2) and repair mode need SO_REUSEADDR
/// and SO_REUSEPORT, and the kernel sets SO_PRIORITY with IP_TOS (ip(7)).
constexpr std::array kChangedInet = {SO_REUSEADDR, SO_REUSEPORT, SO_PRIORITY, SO_RCVBUF};

}  // namespace

void FreshOptions::learn(std::uint32_t network, const SocketType& type, int socket) {
    const auto [at, isNew] = known_.try_emplace({network, type});
    if (!isNew)
        return;
    std::vector<KnownOption>& values = at->second;
    values = readFreshSocket(socket);
    if (type.family != AF_INET && type.family != AF_INET6)
        return;
    std::erase_if(values, [](const KnownOption& known) {
        return known.level == SOL_SOCKET &&
               std::find(kChangedInet.begin(), kChangedInet.end(), known.option) != kChangedInet.end();
    });
    readFreshInet(socket, type, values);
}

KnownOptions FreshOptions::of(std::uint32_t network, const SocketType& type) const {
    const auto found = known_.find({network, type});
    return found == known_.end() ? KnownOptions() : KnownOptions(found->second);
}

}  // namespace criu::sockets
