// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/provider_socket.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/model/memory_provider_name.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {

UniqueFd passedProviderSocket(const model::Options& options) {
    const auto given = std::find_if(options.inheritFds.begin(), options.inheritFds.end(),
                                    [](const model::InheritFd& each) { return each.name == model::kMemoryProvider; });
    if (given == options.inheritFds.end())
        return {};
    const ErrorContext context(
        [&] { return fmt::format("--inherit-fd fd[{}]:{}", given->fd, model::kMemoryProvider); });
    int type = 0;
    socklen_t size = sizeof(type);
    sys(::getsockopt(given->fd, SOL_SOCKET, SO_TYPE, &type, &size), "look at the socket of the provider");
    if (type != SOCK_SEQPACKET)
        fail("the provider's socket isn't of type SOCK_SEQPACKET");
    return UniqueFd(sys(::fcntl(given->fd, F_DUPFD_CLOEXEC, 0), "take over the socket"));
}

}  // namespace criu::engine
