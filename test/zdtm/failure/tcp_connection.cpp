// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*pid \d+\b)(?=.*fd [34]\b)
// zdtm: fails-with-4.2 its message names no pid
#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a TCP connection; the error names descriptor and pid") {
    const auto [client, server] = zdtm::tcp_connection(AF_INET);
    me.wait_for_check();
    char byte = 0;
    CHECK(write(client, "x", 1) == 1 && read(server, &byte, 1) == 1 && byte == 'x', "the connection broke: %s",
          strerror(errno));
}
