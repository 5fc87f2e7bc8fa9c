// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it crashes when nobody else has the inner sockets
#include <fcntl.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("sockets in flight whose queues contain files") {
    zdtm::write_file("data", "0123456789");
    const zdtm::Pair outer = zdtm::make_pair_of(SOCK_STREAM);
    const zdtm::Pair middle = zdtm::make_pair_of(SOCK_DGRAM);
    const zdtm::Pair inner = zdtm::make_pair_of(SOCK_SEQPACKET);
    const int file = SYS(open("data", O_RDONLY));
    SYS(lseek(file, 7, SEEK_SET));
    zdtm::send_message(inner.one, "file", {file});
    zdtm::send_message(middle.one, "inner", {inner.other});
    zdtm::send_message(outer.one, "middle", {middle.other});
    for (const int fd : {file, inner.one, inner.other, middle.one, middle.other}) {
        SYS(close(fd));
    }
    me.wait_for_check();

    zdtm::Message got = zdtm::receive(outer.other);
    CHECK(got == "middle" && got.descriptors.size() == 1, "'%s'", got.data.c_str());
    got = zdtm::receive(got.descriptors[0]);
    CHECK(got == "inner" && got.descriptors.size() == 1, "'%s'", got.data.c_str());
    const int last = got.descriptors[0];
    got = zdtm::receive(last);
    CHECK(got == "file" && got.descriptors.size() == 1, "'%s'", got.data.c_str());
    char byte = 0;
    CHECK(read(got.descriptors[0], &byte, 1) == 1 && byte == '7', "read '%c'", byte);
    CHECK(zdtm::receive(last).length == 0, "a process has the other end of a socket that was closed");
}
