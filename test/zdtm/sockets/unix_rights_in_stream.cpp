// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it gives the files to who reads what was sent before
#include <fcntl.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("files in flight arrive with the stream bytes that they were sent with, not earlier") {
    const zdtm::Pair pair = zdtm::make_pair_of(SOCK_STREAM);
    const int null = SYS(open("/dev/null", O_RDONLY));
    const int zero = SYS(open("/dev/zero", O_RDONLY));
    zdtm::send_message(pair.one, "plain");
    zdtm::send_message(pair.one, "null", {null});
    zdtm::send_message(pair.one, "zero", {zero});
    zdtm::send_message(pair.one, "end");
    me.wait_for_check();

    zdtm::Message got = zdtm::receive(pair.other, 5);
    CHECK(got == "plain" && got.descriptors.empty(), "'%s', %zu files", got.data.c_str(), got.descriptors.size());
    got = zdtm::receive(pair.other, 4);
    CHECK(got == "null" && got.descriptors.size() == 1, "'%s', %zu files", got.data.c_str(), got.descriptors.size());
    char byte = 1;
    CHECK(read(got.descriptors[0], &byte, 1) == 0, "it isn't /dev/null");
    got = zdtm::receive(pair.other, 4);
    CHECK(got == "zero" && got.descriptors.size() == 1, "'%s', %zu files", got.data.c_str(), got.descriptors.size());
    CHECK(read(got.descriptors[0], &byte, 1) == 1 && byte == 0, "it isn't /dev/zero");
    got = zdtm::receive(pair.other, 4);
    CHECK(got == "end" && got.descriptors.empty(), "'%s', %zu files", got.data.c_str(), got.descriptors.size());
}
