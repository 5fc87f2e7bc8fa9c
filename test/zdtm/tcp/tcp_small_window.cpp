// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also all-killed
// zdtm: fails-with-4.2 its connections have segments that the window has no room for
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
// zdtm: may-differ isk\.v6only:, tcp-stream: (inq|outq|unsq|content)
#include <fcntl.h>
#include <time.h>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

namespace {
constexpr std::size_t kMost = 1 << 20;

double seconds() {
    timespec now{};
    SYS(clock_gettime(CLOCK_MONOTONIC, &now));
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

struct Full {
    zdtm::Connection pair;
    zdtm::Stream sent;
    zdtm::Stream received;
};

// Makes a connection whose receiver offers a few kilobytes, far less than a segment of the loopback device.
Full full(int family, std::uint64_t seed) {
    const int listener = zdtm::tcp_listener(family);
    zdtm::set_option(listener, SOL_SOCKET, SO_RCVBUF, 3000);
    const int client = zdtm::tcp_connected(zdtm::Inet::of(listener));
    const int server = SYS(accept(listener, nullptr, nullptr));
    SYS(close(listener));
    SYS(fcntl(client, F_SETFL, O_NONBLOCK));
    zdtm::Stream sent(seed);
    while (sent.send(client, kMost) > 0) {
    }
    CHECK(errno == EAGAIN, "send: %s", strerror(errno));
    return {{client, server}, sent, zdtm::Stream(seed)};
}

void check_drains(Full& one, const char* what) {
    const double start = seconds();
    // Window probes alone transfer only a few kilobytes a second.
    zdtm::drain(one.pair, one.received, one.sent.at(), what, [&] {
        CHECK(seconds() - start < 30, "%s crawls: %llu of %llu, sender %s", what,
              static_cast<unsigned long long>(one.received.at()), static_cast<unsigned long long>(one.sent.at()),
              zdtm::tcp_condition(one.pair.client).c_str());
    });
}
}  // namespace

ZDTM("a full connection whose receive window is smaller than a segment") {
    Full four = full(AF_INET, 4);
    Full six = full(AF_INET6, 6);
    me.wait_for_check();

    check_drains(four, "IPv4");
    check_drains(six, "IPv6");
}
