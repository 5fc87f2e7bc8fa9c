// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it leaves out some options
#include "inet_sockets.hpp"
#include "zdtm.hpp"

namespace {
int shared_port(const zdtm::Inet& where) {
    const int fd = SYS(socket(AF_INET, SOCK_STREAM, 0));
    zdtm::set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    SYS(bind(fd, where.get(), where.length));
    SYS(listen(fd, 7));
    return fd;
}

int backlog(int fd) {
    tcp_info info{};
    socklen_t size = sizeof info;
    SYS(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size));
    return static_cast<int>(info.tcpi_sacked);
}
}  // namespace

ZDTM("listening sockets: backlog, options, two on one port, one for both families, one that is only bound") {
    const int plain = zdtm::tcp_listener(AF_INET, 5);
    zdtm::set_option(plain, IPPROTO_TCP, TCP_DEFER_ACCEPT, 3);
    const int deferred = zdtm::get_option(plain, IPPROTO_TCP, TCP_DEFER_ACCEPT);
    zdtm::set_option(plain, IPPROTO_TCP, TCP_FASTOPEN, 8);
    const int first = shared_port(zdtm::Inet::loopback(AF_INET));
    const int second = shared_port(zdtm::Inet::of(first));
    const int six = zdtm::tcp_listener(AF_INET6);
    const int both = SYS(socket(AF_INET6, SOCK_STREAM, 0));
    zdtm::set_option(both, SOL_SOCKET, SO_REUSEADDR, 1);
    zdtm::set_option(both, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    SYS(bind(both, reinterpret_cast<const sockaddr*>(&any), sizeof any));
    SYS(listen(both, 3));
    const int bound = SYS(socket(AF_INET, SOCK_STREAM, 0));
    zdtm::set_option(bound, SOL_SOCKET, SO_REUSEADDR, 1);
    const zdtm::Inet loopback = zdtm::Inet::loopback(AF_INET);
    SYS(bind(bound, loopback.get(), loopback.length));
    const zdtm::Inet where = zdtm::Inet::of(bound);
    me.wait_for_check();

    CHECK(backlog(plain) == 5 && backlog(first) == 7, "backlogs %d and %d", backlog(plain), backlog(first));
    CHECK(zdtm::get_option(plain, IPPROTO_TCP, TCP_DEFER_ACCEPT) == deferred, "TCP_DEFER_ACCEPT is lost");
    CHECK(zdtm::get_option(plain, IPPROTO_TCP, TCP_FASTOPEN) == 8, "TCP_FASTOPEN is lost");
    CHECK(zdtm::get_option(plain, SOL_SOCKET, SO_REUSEADDR) == 1, "SO_REUSEADDR is lost");
    CHECK(zdtm::get_option(first, SOL_SOCKET, SO_REUSEADDR) == 0, "SO_REUSEADDR is set");
    CHECK(zdtm::get_option(plain, SOL_SOCKET, SO_REUSEPORT) == 0, "SO_REUSEPORT is set");
    CHECK(zdtm::get_option(second, SOL_SOCKET, SO_REUSEPORT) == 1, "SO_REUSEPORT is lost");
    CHECK(zdtm::Inet::of(first) == zdtm::Inet::of(second), "no common port any more");
    CHECK(zdtm::get_option(bound, SOL_SOCKET, SO_ACCEPTCONN) == 0, "a bound socket listens");
    CHECK(zdtm::Inet::of(bound) == where, "bound to %s", zdtm::Inet::of(bound).text().c_str());
    zdtm::set_option(plain, IPPROTO_TCP, TCP_DEFER_ACCEPT, 0);
    for (const int fd : {plain, six}) {
        const int client = zdtm::tcp_connected(zdtm::Inet::of(fd));
        zdtm::check_flows(client, SYS(accept(fd, nullptr, nullptr)), "a new connection");
    }
    for (const int family : {AF_INET, AF_INET6}) {
        const int client = zdtm::tcp_connected(zdtm::Inet::loopback(family, zdtm::Inet::of(both).port()));
        zdtm::check_flows(client, SYS(accept(both, nullptr, nullptr)), "a new connection");
    }
    SYS(listen(bound, 1));
    const int last = zdtm::tcp_connected(where);
    zdtm::check_flows(last, SYS(accept(bound, nullptr, nullptr)), "the bound one");
}
