// SPDX-License-Identifier: GPL-2.0-only
// The kernel returns an empty message to only one peek with an offset. A second dump of the same socket would miss it.
// zdtm: not-in terminated,killed,leave-running,dry-run,all-killed, dump-killed,pre-dump-killed
// zdtm: fails-with-4.2 it takes an empty message for the end of the queue
#include "unix_sockets.hpp"
#include "zdtm.hpp"

namespace {
void check(int fd, const char* kind) {
    const zdtm::Message first = zdtm::receive(fd);
    CHECK(first == "first", "%s: %zd bytes first", kind, first.length);
    for (int i = 0; i < 2; ++i) {
        const zdtm::Message empty = zdtm::receive(fd);
        CHECK(empty.length == 0, "%s: %zd bytes (%s) instead of none", kind, empty.length, strerror(errno));
    }
    const zdtm::Message last = zdtm::receive(fd);
    CHECK(last == "last", "%s: %zd bytes last", kind, last.length);
    CHECK(zdtm::receive(fd).length == -1 && errno == EAGAIN, "%s: more than before", kind);
}
}  // namespace

ZDTM("queued datagrams and packets keep their boundaries; some are empty") {
    const zdtm::Pair packets = zdtm::make_pair_of(SOCK_SEQPACKET);
    const zdtm::Pair datagrams = zdtm::make_pair_of(SOCK_DGRAM);
    for (const int fd : {packets.one, datagrams.one}) {
        for (const char* text : {"first", "", "", "last"}) {
            zdtm::send_message(fd, text);
        }
    }
    me.wait_for_check();

    check(packets.other, "packets");
    check(datagrams.other, "datagrams");
}
