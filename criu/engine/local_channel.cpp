// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/local_channel.hpp"

#include <cerrno>
#include <cstddef>

#include "criu/kernel/daemon_process.hpp"

namespace criu::engine {
namespace {

UniqueFd makePacketSocket() {
    return UniqueFd(sys(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), "make a socket"));
}

}  // namespace

AbstractAddress::AbstractAddress(std::string_view name) {
    address_.sun_family = AF_UNIX;
    const std::size_t length = name.copy(address_.sun_path + 1, sizeof(address_.sun_path) - 1);
    size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

std::optional<UniqueFd> AbstractAddress::connect() const {
    UniqueFd socket = makePacketSocket();
    if (::connect(socket.get(), get(), size_) == 0)
        return socket;
    const int code = errno;
    socket.reset();
    errno = code;
    return std::nullopt;
}

std::optional<UniqueFd> AbstractAddress::bind() const {
    UniqueFd socket = makePacketSocket();
    if (::bind(socket.get(), get(), size_) == 0)
        return socket;
    if (errno == EADDRINUSE)
        return std::nullopt;
    failErrno("take an abstract name for a daemon");
}

std::pair<UniqueFd, UniqueFd> makeChannel() {
    int ends[2];
    sys(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "make a channel");
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::optional<UniqueFd> startDaemon(const AbstractAddress& address, std::string_view name,
                                    const std::function<void(UniqueFd listener, UniqueFd client)>& serve) {
    std::optional<UniqueFd> listener = address.bind();
    if (!listener)
        return std::nullopt;
    auto [own, client] = makeChannel();
    createDaemon(name, [&serve, &listener, &theirs = client] { serve(std::move(*listener), std::move(theirs)); });
    return std::move(own);
}

}  // namespace criu::engine
