// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused-restore
// zdtm: outside echo
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-close --inet-map 127.0.0.1=127.0.0.9
// zdtm: refused-restore --no-tcp-close --tcp-established
// zdtm: refused-with 127\.0\.0\.1:\d+.* to 127\.0\.0\.1:\d+\) gets another address by --inet-map, but its peer is outside of the tree.*--tcp-close
// zdtm: ignore fd \d+ (getpeername|getsockname)
// zdtm: fails-with-4.2 it has no --inet-map
#include <arpa/inet.h>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("--inet-map is refused for a connection to a peer outside of the tree, unless --tcp-close closes it") {
    const char* const port = getenv("ZDTM_ECHO");
    CHECK(port != nullptr, "no server outside");
    const int listener = zdtm::tcp_listener(AF_INET);
    const int outside =
        zdtm::tcp_connected(zdtm::Inet::loopback(AF_INET, static_cast<std::uint16_t>(strtoul(port, nullptr, 10))));
    me.wait_for_check();
    char byte = 0;
    CHECK(zdtm::tcp_state(outside) == TCP_CLOSE, "state %d", zdtm::tcp_state(outside));
    CHECK(recv(outside, &byte, 1, MSG_DONTWAIT) == 0, "no end: %s", strerror(errno));
    sockaddr_in local{};
    socklen_t size = sizeof(local);
    SYS(getsockname(listener, reinterpret_cast<sockaddr*>(&local), &size));
    CHECK(local.sin_addr.s_addr == inet_addr("127.0.0.9"), "%#x", local.sin_addr.s_addr);
}
