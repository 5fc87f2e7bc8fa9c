// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it drops the datagrams
#include "inet_sockets.hpp"
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a datagram waits in a UDP socket of a private network namespace, which criu locks") {
    zdtm::enter_new_network();
    const auto [sender, receiver] = zdtm::udp_pair();
    SYS(send(sender, "one", 3, 0));
    me.wait_for_check();
    char text[16]{};
    zdtm::Inet from;
    from.length = sizeof from.room;
    CHECK(recvfrom(receiver, text, sizeof text, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from.room), &from.length) ==
                  3 &&
              std::string(text) == "one",
          "got %s", text);
    CHECK(from == zdtm::Inet::of(sender), "from %s", from.text().c_str());
}
