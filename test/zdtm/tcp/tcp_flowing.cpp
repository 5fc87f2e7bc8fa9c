// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
// zdtm: may-differ isk\.v6only:, tcp-stream: (inq|outq|unsq|content), option 6
#include <vector>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

namespace {
void write_all(int fd, std::uint64_t seed, const zdtm::Task& me) {
    zdtm::Stream stream(seed);
    while (!me.triggered()) {
        CHECK(stream.send(fd, 7'000) > 0 || errno == EINTR, "send: %s", strerror(errno));
    }
    SYS(shutdown(fd, SHUT_WR));
}

void read_all(int fd, std::uint64_t seed) {
    zdtm::Stream stream(seed);
    for (ssize_t got = 1; got != 0;) {
        got = stream.receive(fd, 16384);
        CHECK(got >= 0 || errno == EINTR, "receive: %s", strerror(errno));
    }
    CHECK(stream.at() != 0, "nothing came");
}
}  // namespace

ZDTM("streams between processes of the tree continue over dumps and restores, IPv4 and IPv6") {
    std::vector<pid_t> children;
    for (const int family : {AF_INET, AF_INET6}) {
        const zdtm::Connection pair = zdtm::tcp_connection(family);
        const auto seed = static_cast<std::uint64_t>(family);
        children.push_back(me.start_child([&](zdtm::Task& child) {
            SYS(close(pair.server));
            child.ready();
            write_all(pair.client, seed, child);
        }));
        children.push_back(me.start_child([&](zdtm::Task& child) {
            SYS(close(pair.client));
            child.ready();
            read_all(pair.server, seed);
        }));
        SYS(close(pair.client));
        SYS(close(pair.server));
    }
    me.wait_for_check();
    for (const pid_t child : children) {
        me.finish(child);
    }
}
