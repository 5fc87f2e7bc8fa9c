// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it forgets who sent a datagram
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM(
    "a queue with datagrams of many senders keeps each sender's name, if the sender is closed or connected elsewhere") {
    const auto name = zdtm::Name::path("receiver");
    const int receiver = zdtm::bound_socket(SOCK_DGRAM, name);
    const int one = zdtm::bound_socket(SOCK_DGRAM, zdtm::Name::path("one"));
    SYS(connect(one, name.get(), name.length));
    const auto two_name = zdtm::Name::abstract("two");
    const int two = zdtm::bound_socket(SOCK_DGRAM, two_name);
    const int unnamed = zdtm::connected_socket(SOCK_DGRAM, name);
    const int closed = zdtm::bound_socket(SOCK_DGRAM, zdtm::Name::path("closed"));
    zdtm::send_message(one, "a");
    zdtm::send_to(two, "b", name);
    zdtm::send_message(unnamed, "c");
    zdtm::send_to(closed, "d", name);
    zdtm::send_message(one, "e");
    SYS(close(closed));
    SYS(unlink("closed"));
    me.wait_for_check();

    const struct {
        const char* data;
        std::string from;
    } wanted[] = {{"a", "one"}, {"b", two_name.shown()}, {"c", ""}, {"d", "closed"}, {"e", "one"}};
    for (const auto& message : wanted) {
        const zdtm::Message got = zdtm::receive(receiver);
        CHECK(got == message.data, "'%s' instead of '%s'", got.data.c_str(), message.data);
        CHECK(got.from == message.from, "'%s' is from '%s'", message.data, got.from.c_str());
    }
    CHECK(access("closed", F_OK) == -1, "the name of a closed socket came back");
    zdtm::check_connected(one, receiver, "one");
    zdtm::check_connected(unnamed, receiver, "unnamed");
    const auto back = zdtm::Name::path("one");
    zdtm::send_to(receiver, "back", back);
    CHECK(zdtm::receive(one) == "back", "the way back is closed");
}
