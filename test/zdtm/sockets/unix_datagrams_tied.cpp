// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it refuses a pair of which only one knows the other
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("datagram sockets connected in chains, with each other and with themselves, and half-disconnected pairs") {
    const auto one_name = zdtm::Name::path("one");
    const auto two_name = zdtm::Name::path("two");
    const auto three_name = zdtm::Name::path("three");
    const auto self_name = zdtm::Name::abstract("self");
    const int one = zdtm::bound_socket(SOCK_DGRAM, one_name);
    const int two = zdtm::bound_socket(SOCK_DGRAM, two_name);
    const int three = zdtm::bound_socket(SOCK_DGRAM, three_name);
    // Connects three to two, and two with one. three is connected before one.
    SYS(connect(three, two_name.get(), two_name.length));
    zdtm::send_message(three, "early");
    SYS(connect(one, two_name.get(), two_name.length));
    zdtm::send_message(one, "late");
    SYS(connect(two, one_name.get(), one_name.length));
    zdtm::send_message(two, "down");
    const int self = zdtm::bound_socket(SOCK_DGRAM, self_name);
    SYS(connect(self, self_name.get(), self_name.length));
    zdtm::send_message(self, "note to self");
    // Disconnects one end. The other end still refers to it.
    const zdtm::Pair parted = zdtm::make_pair_of(SOCK_DGRAM);
    sockaddr nobody{AF_UNSPEC, {}};
    SYS(connect(parted.other, &nobody, sizeof nobody.sa_family));
    zdtm::send_message(parted.one, "one way");
    me.wait_for_check();

    for (const auto& [data, from] : {std::pair("early", "three"), std::pair("late", "one")}) {
        const zdtm::Message got = zdtm::receive(two);
        CHECK(got == data && got.from == from, "'%s' from '%s' in two", got.data.c_str(), got.from.c_str());
    }
    CHECK(zdtm::receive(one) == "down", "data got lost in one");
    zdtm::check_connected(one, two, "one to two");
    zdtm::check_connected(two, one, "two to one");
    CHECK(send(three, "x", 1, 0) == -1 && errno == EPERM, "two accepts others");
    CHECK(zdtm::receive(self) == "note to self", "data got lost");
    zdtm::check_connected(self, self, "self");
    CHECK(zdtm::receive(parted.other) == "one way", "data got lost in a parted pair");
    zdtm::check_connected(parted.one, parted.other, "parted");
    CHECK(send(parted.other, "x", 1, 0) == -1 && errno == ENOTCONN, "the pair is together again");
}
