// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
// zdtm: fails-with-4.2 it leaves out most of these options
#include <array>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

namespace {
struct Option {
    const char* name;
    int level;
    int option;
    int value;
};
constexpr int kTxRehash = 74;  // SO_TXREHASH (5.18)
#define OPTION(level, option, value) \
    { #option, level, option, value }
constexpr Option kOptions[] = {
    OPTION(IPPROTO_TCP, TCP_NODELAY, 1),
    OPTION(IPPROTO_TCP, TCP_KEEPIDLE, 321),
    OPTION(IPPROTO_TCP, TCP_KEEPINTVL, 21),
    OPTION(IPPROTO_TCP, TCP_KEEPCNT, 4),
    OPTION(IPPROTO_TCP, TCP_SYNCNT, 5),
    OPTION(IPPROTO_TCP, TCP_LINGER2, 17),
    OPTION(IPPROTO_TCP, TCP_USER_TIMEOUT, 9000),
    OPTION(IPPROTO_TCP, TCP_NOTSENT_LOWAT, 5000),
    OPTION(IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1),
    OPTION(IPPROTO_TCP, TCP_INQ, 1),
    OPTION(SOL_SOCKET, SO_KEEPALIVE, 1),
    OPTION(SOL_SOCKET, SO_RCVLOWAT, 3),
    OPTION(SOL_SOCKET, SO_OOBINLINE, 1),
    OPTION(SOL_SOCKET, SO_MARK, 77),
    OPTION(SOL_SOCKET, SO_MAX_PACING_RATE, 123'456'789),
    OPTION(SOL_SOCKET, kTxRehash, 0),
    OPTION(IPPROTO_IP, IP_TOS, 0x10),
    OPTION(IPPROTO_IP, IP_TTL, 33),
    OPTION(IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT),
    OPTION(IPPROTO_IP, IP_RECVERR, 1),
    OPTION(SOL_SOCKET, SO_PRIORITY, 3),  // after IP_TOS, which changes it
    OPTION(IPPROTO_IP, IP_MINTTL, 5),
    OPTION(IPPROTO_IP, IP_RECVTTL, 1),
};

bool has(const Option& option) {
    static const bool rehash = zdtm::get_option(SYS(socket(AF_INET, SOCK_STREAM, 0)), SOL_SOCKET, kTxRehash) >= 0;
    return rehash || option.option != kTxRehash || option.level != SOL_SOCKET;
}

std::string congestion(int fd) {
    char name[16] = {};
    socklen_t size = sizeof name;
    SYS(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size));
    return name;
}
}  // namespace

ZDTM("TCP and IP options of a connection and of an unconnected socket") {
    const zdtm::Connection pair = zdtm::tcp_connection(AF_INET);
    const int lone = SYS(socket(AF_INET, SOCK_STREAM, 0));
    for (const int fd : {pair.client, lone}) {
        for (const Option& option : kOptions) {
            if (has(option)) {
                zdtm::set_option(fd, option.level, option.option, option.value);
            }
        }
        SYS(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4));
    }
    zdtm::set_option(lone, IPPROTO_TCP, TCP_MAXSEG, 1000);
    constexpr int window = 5000;
    zdtm::set_option(lone, IPPROTO_TCP, TCP_WINDOW_CLAMP, window);
    zdtm::set_option(pair.server, IPPROTO_TCP, TCP_WINDOW_CLAMP, window);
    const std::string usual = congestion(pair.server);
    me.wait_for_check();

    for (const int fd : {pair.client, lone}) {
        for (const Option& option : kOptions) {
            const int now = zdtm::get_option(fd, option.level, option.option);
            CHECK(now == option.value || !has(option), "%s of fd %d is %d instead of %d", option.name, fd, now,
                  option.value);
        }
        CHECK(congestion(fd) == "reno", "congestion control %s", congestion(fd).c_str());
    }
    CHECK(congestion(pair.server) == usual, "congestion control %s", congestion(pair.server).c_str());
    CHECK(zdtm::get_option(lone, IPPROTO_TCP, TCP_MAXSEG) == 1000, "the wanted size of segments is lost");
    for (const int fd : {lone, pair.server}) {
        const int now = zdtm::get_option(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP);
        CHECK(now == window, "the largest window of fd %d is %d", fd, now);
    }
}
