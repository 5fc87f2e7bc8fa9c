// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

namespace {
struct Scales {
    unsigned send;
    unsigned receive;
};

Scales scales_of(int fd) {
    tcp_info info{};
    socklen_t size = sizeof info;
    SYS(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size));
    CHECK((info.tcpi_options & TCPI_OPT_WSCALE) != 0, "windows aren't scaled");
    return {info.tcpi_snd_wscale, info.tcpi_rcv_wscale};
}
}  // namespace

ZDTM("a connection with different window scales in its directions") {
    const int listener = zdtm::tcp_listener(AF_INET);
    const int client = SYS(socket(AF_INET, SOCK_STREAM, 0));
    // The kernel chooses the window scale by the receive buffer, at connect(2).
    zdtm::set_option(client, SOL_SOCKET, SO_RCVBUF, 8192);
    const zdtm::Inet to = zdtm::Inet::of(listener);
    SYS(connect(client, to.get(), to.length));
    const int server = SYS(accept(listener, nullptr, nullptr));
    const Scales before = scales_of(client);
    CHECK(before.send != before.receive, "both directions have scale %u", before.send);
    me.wait_for_check();

    const Scales ours = scales_of(client);
    CHECK(ours.send == before.send && ours.receive == before.receive, "scales %u and %u instead of %u and %u",
          ours.send, ours.receive, before.send, before.receive);
    const Scales theirs = scales_of(server);
    CHECK(theirs.send == before.receive && theirs.receive == before.send,
          "scales %u and %u of the server instead of %u and %u", theirs.send, theirs.receive, before.receive,
          before.send);
    zdtm::check_flows(client, server, "to the server");
    zdtm::check_flows(server, client, "to the client");
}
