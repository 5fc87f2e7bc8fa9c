// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
#include <sys/wait.h>

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

ZDTM("streams between processes of the tree go on flowing over dumps and restores, IPv4 and IPv6") {
    for (const int family : {AF_INET, AF_INET6}) {
        const zdtm::Connection pair = zdtm::tcp_connection(family);
        const auto seed = static_cast<std::uint64_t>(family);
        for (const bool writes : {false, true}) {
            const pid_t child = SYS(fork());
            if (child != 0) {
                continue;
            }
            SYS(close(writes ? pair.server : pair.client));
            if (writes) {
                write_all(pair.client, seed, me);
            } else {
                read_all(pair.server, seed);
            }
            _exit(0);
        }
        SYS(close(pair.client));
        SYS(close(pair.server));
    }
    me.wait_for_check();
    SYS(kill(0, SIGTERM));
    for (int left = 4; left > 0; --left) {
        int status = 0;
        const pid_t child = SYS(wait(&status));
        CHECK(status == 0, "process %d ended with %#x", child, status);
    }
}
