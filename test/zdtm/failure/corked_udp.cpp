// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd \d+ of pid 2\b).*corked \(UDP_CORK\).*dump again
// zdtm: fails-with-4.2 its message does not say so
#include <netinet/udp.h>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a corked UDP socket, whose datagram the program then completes") {
    const auto [sender, receiver] = zdtm::udp_pair();
    zdtm::set_option(sender, IPPROTO_UDP, UDP_CORK, 1);
    SYS(send(sender, "one", 3, 0));
    me.wait_for_check();
    SYS(send(sender, "two", 3, 0));
    zdtm::set_option(sender, IPPROTO_UDP, UDP_CORK, 0);
    char text[16]{};
    CHECK(recv(receiver, text, sizeof(text), 0) == 6 && std::string(text) == "onetwo", "got %s", text);
}
