// SPDX-License-Identifier: GPL-2.0-only
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/sockets/tcp_repair.hpp"

using namespace criu;

namespace {

/// Two ends of a connection over the loopback device.
struct Connection {
    UniqueFd one{sys(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "make a socket")};
    UniqueFd other;

    Connection() {
        const UniqueFd listener(sys(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "make a socket"));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        sys(::bind(listener.get(), generic, size), "bind");
        sys(::listen(listener.get(), 1), "listen");
        sys(::getsockname(listener.get(), generic, &size), "read an address");
        sys(::connect(one.get(), generic, size), "connect");
        other.reset(sys(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
    }
};

linger lingerOf(int socket) {
    linger found{};
    socklen_t size = sizeof(found);
    sys(::getsockopt(socket, SOL_SOCKET, SO_LINGER, &found, &size), "read SO_LINGER");
    return found;
}

}  // namespace

TEST_CASE("the kernel resets a connection that is closed in the mode for this", "[sockets]") {
    Connection connection;
    (void)sockets::ResetIfClosed(connection.one.get());
    REQUIRE(::send(connection.one.get(), "x", 1, MSG_NOSIGNAL) == 1);
    connection.one.reset();
    char byte = 0;
    ssize_t got = 1;
    while (got > 0)
        got = ::recv(connection.other.get(), &byte, 1, 0);
    CHECK(got == -1);
    CHECK(errno == ECONNRESET);
}

TEST_CASE("a connection is closed as before after this mode", "[sockets]") {
    Connection connection;
    constexpr linger kOwn{1, 7};
    sys(::setsockopt(connection.one.get(), SOL_SOCKET, SO_LINGER, &kOwn, sizeof(kOwn)), "set SO_LINGER");
    sockets::ResetIfClosed(connection.one.get()).end();
    const linger after = lingerOf(connection.one.get());
    CHECK(after.l_onoff == kOwn.l_onoff);
    CHECK(after.l_linger == kOwn.l_linger);
    connection.one.reset();
    char byte = 0;
    CHECK(::recv(connection.other.get(), &byte, 1, 0) == 0);
}
