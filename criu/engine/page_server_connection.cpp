// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/page_server_connection.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;

    [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// An IPv4 or IPv6 address in digits, as 4.2 takes them.
Address parse(const std::string& text, std::uint16_t port) {
    Address address;
    auto& four = reinterpret_cast<sockaddr_in&>(address.storage);
    auto& six = reinterpret_cast<sockaddr_in6&>(address.storage);
    if (::inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
        four.sin_family = AF_INET;
        four.sin_port = htons(port);
        address.size = sizeof(four);
    } else if (::inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) {
        six.sin6_family = AF_INET6;
        six.sin6_port = htons(port);
        address.size = sizeof(six);
    } else {
        failWith(EINVAL, "--address {}: not an IP address", text);
    }
    return address;
}

UniqueFd makeSocket(const Address& address) {
    return UniqueFd(sys(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP), "make a socket"));
}

}  // namespace

UniqueFd connectToPageServer(const model::Options& options) {
    if (options.pageServerSocket >= 0)
        return UniqueFd(
            sys(::fcntl(options.pageServerSocket, F_DUPFD_CLOEXEC, 3), "--ps-socket {}", options.pageServerSocket));
    if (!options.address || !options.port)
        fail("--page-server needs --address and --port, or --ps-socket");
    const Address address = parse(*options.address, *options.port);
    UniqueFd socket = makeSocket(address);
    sys(::connect(socket.get(), address.get(), address.size), "connect to the page server {} port {}", *options.address,
        *options.port);
    return socket;
}

ListeningPageServer listenForPages(const model::Options& options) {
    const std::string text = options.address.value_or("0.0.0.0");
    const Address address = parse(text, options.port.value_or(0));
    ListeningPageServer server{makeSocket(address), 0};
    const int on = 1;
    ::setsockopt(server.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sys(::bind(server.socket.get(), address.get(), address.size), "bind to {} port {}", text, options.port.value_or(0));
    sys(::listen(server.socket.get(), 1), "listen at {}", text);
    Address own;
    own.size = sizeof(own.storage);
    sys(::getsockname(server.socket.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.size), "look at the socket");
    // The port is at the same place in addresses of both families.
    server.port = ntohs(reinterpret_cast<const sockaddr_in&>(own.storage).sin_port);
    return server;
}

}  // namespace criu::engine
