// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/fresh_options.hpp"

#include <sys/socket.h>

#include "criu/sockets/inet_options.hpp"

namespace criu::sockets {

void FreshOptions::learn(std::uint32_t network, const SocketType& type, int socket) {
    const auto [at, isNew] = known_.try_emplace({network, type});
    if (!isNew)
        return;
    const bool isInet = type.family == AF_INET || type.family == AF_INET6;
    at->second = isInet ? readFreshInetSocket(socket, type) : readFreshSocket(socket);
}

KnownOptions FreshOptions::of(std::uint32_t network, const SocketType& type) const {
    const auto found = known_.find({network, type});
    return found == known_.end() ? KnownOptions() : KnownOptions(found->second);
}

}  // namespace criu::sockets
