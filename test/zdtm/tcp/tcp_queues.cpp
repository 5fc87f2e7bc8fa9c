// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also all-killed, calls-fail, restore-calls-fail
// zdtm: fails dump EMFILE socket kernel::requireNetfilterSocket; restore EACCES socket kernel::requireNetfilterSocket; restore EMFILE close_range engine::TaskRestore::live
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
#include <fcntl.h>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

namespace {
constexpr std::size_t kMost = 3 << 20;

// Sends until the queues of both ends are full.
void fill_up(int fd, zdtm::Stream& stream) {
    while (stream.at() < kMost && stream.send(fd, 10'000) > 0) {
    }
}

void drain(int fd, std::uint64_t seed, std::uint64_t size) {
    zdtm::Stream stream(seed);
    SYS(fcntl(fd, F_SETFL, 0));
    while (stream.at() < size) {
        CHECK(stream.receive(fd, size - stream.at()) > 0, "the stream ends at %llu of %llu: %s",
              static_cast<unsigned long long>(stream.at()), static_cast<unsigned long long>(size), strerror(errno));
    }
    CHECK(zdtm::unread(fd) == 0, "%d bytes more", zdtm::unread(fd));
}
}  // namespace

ZDTM("a connection keeps the receive and send queues of both ends, including data that was not sent") {
    const zdtm::Connection pair = zdtm::tcp_connection(AF_INET);
    SYS(fcntl(pair.client, F_SETFL, O_NONBLOCK));
    SYS(fcntl(pair.server, F_SETFL, O_NONBLOCK));
    zdtm::Stream there(1);
    zdtm::Stream back(2);
    fill_up(pair.client, there);
    CHECK(back.send(pair.server, 5000) == 5000, "send: %s", strerror(errno));
    CHECK(zdtm::unacknowledged(pair.client) > 100'000, "only %d bytes wait to be sent",
          zdtm::unacknowledged(pair.client));
    const zdtm::Inet client = zdtm::Inet::of(pair.client);
    const zdtm::Inet server = zdtm::Inet::of(pair.server);
    me.wait_for_check();

    CHECK(zdtm::Inet::of(pair.client) == client && zdtm::Inet::of_peer(pair.client) == server, "now at %s",
          zdtm::Inet::of(pair.client).text().c_str());
    CHECK((fcntl(pair.client, F_GETFL) & O_NONBLOCK) != 0, "the client blocks");
    drain(pair.server, 1, there.at());
    drain(pair.client, 2, back.at());
    zdtm::check_flows(pair.client, pair.server, "client to server");
    zdtm::check_flows(pair.server, pair.client, "server to client");
}
