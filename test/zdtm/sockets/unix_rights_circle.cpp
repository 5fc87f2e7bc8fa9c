// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it can't dump a socket that is in flight in its own queue
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a socket in flight in its own queue, and two sockets in each other's") {
    const zdtm::Pair own = zdtm::make_pair_of(SOCK_STREAM);
    zdtm::send_message(own.one, "itself", {own.other});
    const zdtm::Pair one = zdtm::make_pair_of(SOCK_STREAM);
    const zdtm::Pair two = zdtm::make_pair_of(SOCK_STREAM);
    zdtm::send_message(one.one, "two", {two.other});
    zdtm::send_message(two.one, "one", {one.other});
    SYS(close(two.other));
    me.wait_for_check();

    zdtm::Message got = zdtm::receive(own.other);
    CHECK(got == "itself" && got.descriptors.size() == 1, "'%s'", got.data.c_str());
    zdtm::check_connected(own.one, got.descriptors[0], "through itself");
    got = zdtm::receive(one.other);
    CHECK(got == "two" && got.descriptors.size() == 1, "'%s'", got.data.c_str());
    got = zdtm::receive(got.descriptors[0]);
    CHECK(got == "one" && got.descriptors.size() == 1, "'%s'", got.data.c_str());
    zdtm::check_connected(one.one, got.descriptors[0], "around");
}
