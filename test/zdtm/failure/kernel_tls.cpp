// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: dump-options --tcp-established
// zdtm: refused (?=.*fd \d+ of pid 2\b).*TCP connection with tls in the kernel.*--tcp-close
// zdtm: fails-with-4.2 its message does not say so
#include <netinet/tcp.h>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a TCP connection with TLS in the kernel, which then still works") {
    const zdtm::Inet where = zdtm::Inet::loopback(AF_INET);
    const int listener = SYS(socket(AF_INET, SOCK_STREAM, 0));
    SYS(bind(listener, where.get(), where.length));
    SYS(listen(listener, 4));
    const zdtm::Inet there = zdtm::Inet::of(listener);
    const int client = SYS(socket(AF_INET, SOCK_STREAM, 0));
    SYS(connect(client, there.get(), there.length));
    const int server = SYS(accept(listener, nullptr, nullptr));
    if (setsockopt(client, IPPROTO_TCP, TCP_ULP, "tls", 3) != 0)
        zdtm::skip("no TLS in this kernel: %s", strerror(errno));
    me.wait_for_check();
    zdtm::check_flows(client, server, "the connection");
}
