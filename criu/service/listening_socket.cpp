// SPDX-License-Identifier: GPL-2.0-only
#include "criu/service/listening_socket.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "criu/base/error.hpp"

namespace criu::service {
namespace {

std::optional<int> numberIn(const char* variable) {
    const char* const text = ::secure_getenv(variable);
    if (text == nullptr)
        return std::nullopt;
    const std::string_view digits(text);
    int number = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (problem != std::errc() || end != digits.data() + digits.size())
        return std::nullopt;
    return number;
}

int givenOptionOf(int socket, int option) {
    int value = 0;
    socklen_t size = sizeof(value);
    sys(::getsockopt(socket, SOL_SOCKET, option, &value, &size), "look at fd {}", socket);
    return value;
}

}  // namespace

std::optional<UniqueFd> takePassedSocket() {
    constexpr int kFirst = 3;
    if (numberIn("LISTEN_PID") != ::getpid())
        return std::nullopt;
    const int count = numberIn("LISTEN_FDS").value_or(0);
    if (count == 0)
        return std::nullopt;
    ::unsetenv("LISTEN_PID");
    ::unsetenv("LISTEN_FDS");
    ::unsetenv("LISTEN_FDNAMES");
    const ErrorContext context([] { return "socket passed by systemd (LISTEN_FDS)"; });
    if (count != 1)
        fail("{} sockets were passed, but there is only one kind of requests", count);
    if (givenOptionOf(kFirst, SO_DOMAIN) != AF_UNIX || givenOptionOf(kFirst, SO_TYPE) != SOCK_SEQPACKET ||
        givenOptionOf(kFirst, SO_ACCEPTCONN) == 0)
        fail("fd {} is no listening Unix socket of type SOCK_SEQPACKET (ListenSequentialPacket=)", kFirst);
    sys(::fcntl(kFirst, F_SETFD, FD_CLOEXEC), "own fd {}", kFirst);
    return UniqueFd(kFirst);
}

}  // namespace criu::service
