// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 MPTCP
#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a listening MPTCP socket, as Go servers have, and one without a connection") {
    constexpr int kMptcp = 262;  // IPPROTO_MPTCP
    const int listener = socket(AF_INET, SOCK_STREAM, kMptcp);
    if (listener < 0) {
        zdtm::skip("no MPTCP: %s", strerror(errno));
    }
    zdtm::set_option(listener, SOL_SOCKET, SO_REUSEADDR, 1);
    const zdtm::Inet where = zdtm::Inet::loopback(AF_INET);
    SYS(bind(listener, where.get(), where.length));
    SYS(listen(listener, 4));
    const int fresh = SYS(socket(AF_INET, SOCK_STREAM, kMptcp));
    me.wait_for_check();
    CHECK(zdtm::get_option(listener, SOL_SOCKET, SO_PROTOCOL) == kMptcp, "another protocol");
    CHECK(zdtm::get_option(fresh, SOL_SOCKET, SO_PROTOCOL) == kMptcp, "another protocol");
    const int client = zdtm::tcp_connected(zdtm::Inet::of(listener));
    zdtm::check_flows(client, SYS(accept(listener, nullptr, nullptr)), "a new connection");
}
