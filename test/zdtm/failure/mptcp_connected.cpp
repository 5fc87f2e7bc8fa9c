// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd \d+ of pid 2\b).*MPTCP connection
// zdtm: fails-with-4.2 its message does not say so
#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses an MPTCP connection, which then still works") {
    constexpr int kMptcp = 262;  // IPPROTO_MPTCP
    const int listener = socket(AF_INET, SOCK_STREAM, kMptcp);
    if (listener < 0)
        zdtm::skip("no MPTCP: %s", strerror(errno));
    const zdtm::Inet where = zdtm::Inet::loopback(AF_INET);
    SYS(bind(listener, where.get(), where.length));
    SYS(listen(listener, 4));
    const zdtm::Inet there = zdtm::Inet::of(listener);
    const int client = SYS(socket(AF_INET, SOCK_STREAM, kMptcp));
    SYS(connect(client, there.get(), there.length));
    const int server = SYS(accept(listener, nullptr, nullptr));
    me.wait_for_check();
    zdtm::check_flows(client, server, "the connection");
}
