// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("files in flight in all types of sockets, some of them also open in a process") {
    zdtm::write_file("data", "0123456789");
    const int types[] = {SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM};
    zdtm::Pair pairs[3];
    const int held = SYS(open("data", O_RDONLY));
    SYS(lseek(held, 2, SEEK_SET));
    for (int i = 0; i < 3; ++i) {
        pairs[i] = zdtm::make_pair_of(types[i]);
        int ends[2];
        SYS(pipe(ends));
        SYS(write(ends[1], "piped", 5));
        zdtm::send_message(pairs[i].one, "both", {held, ends[0], ends[0]});
        SYS(close(ends[0]));
        SYS(close(ends[1]));
    }
    me.wait_for_check();

    for (int i = 0; i < 3; ++i) {
        const zdtm::Message got = zdtm::receive(pairs[i].other);
        CHECK(got == "both", "type %d: '%s'", types[i], got.data.c_str());
        CHECK(got.descriptors.size() == 3, "type %d: %zu descriptors", types[i], got.descriptors.size());
        char text[8] = {};
        CHECK(read(got.descriptors[0], text, 1) == 1 && text[0] == '2' + i, "type %d: read '%s'", types[i], text);
        CHECK(lseek(held, 0, SEEK_CUR) == 3 + i, "type %d: another description of the file", types[i]);
        CHECK(read(got.descriptors[1], text, 5) == 5 && memcmp(text, "piped", 5) == 0, "type %d: '%s'", types[i], text);
        CHECK(read(got.descriptors[2], text, 1) == 0, "type %d: the pipe has a writer or more data", types[i]);
    }
}
