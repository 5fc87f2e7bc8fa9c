// SPDX-License-Identifier: GPL-2.0-only
#include "inet_sockets.hpp"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>

#include "network.hpp"
#include "patience.hpp"
#include "zdtm.hpp"

namespace zdtm {
namespace {

Inet filled(int (*get)(int, sockaddr*, socklen_t*), int fd) {
    Inet inet;
    inet.length = sizeof inet.room;
    SYS(get(fd, reinterpret_cast<sockaddr*>(&inet.room), &inet.length));
    return inet;
}

int ask(int fd, unsigned long request) {
    int value = 0;
    SYS(ioctl(fd, request, &value));
    return value;
}
}  // namespace

Inet Inet::loopback(int family, std::uint16_t port) {
    Inet inet;
    if (family == AF_INET) {
        auto& address = reinterpret_cast<sockaddr_in&>(inet.room);
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(port);
        inet.length = sizeof address;
    } else {
        auto& address = reinterpret_cast<sockaddr_in6&>(inet.room);
        address.sin6_family = AF_INET6;
        address.sin6_addr = in6addr_loopback;
        address.sin6_port = htons(port);
        inet.length = sizeof address;
    }
    return inet;
}

Inet Inet::mapped(std::uint16_t port) {
    Inet inet = loopback(AF_INET6, port);
    SYS(inet_pton(AF_INET6, "::ffff:127.0.0.1", &reinterpret_cast<sockaddr_in6&>(inet.room).sin6_addr));
    return inet;
}

Inet Inet::of(int fd) {
    return filled(getsockname, fd);
}

Inet Inet::of_peer(int fd) {
    return filled(getpeername, fd);
}

std::uint16_t Inet::port() const {
    return ntohs(reinterpret_cast<const sockaddr_in&>(room).sin_port);  // both families have the port at this offset
}

std::string Inet::text() const {
    char host[INET6_ADDRSTRLEN] = {};
    const void* const address = room.ss_family == AF_INET
                                    ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(room).sin_addr)
                                    : &reinterpret_cast<const sockaddr_in6&>(room).sin6_addr;
    inet_ntop(room.ss_family, address, host, sizeof host);
    return std::string(host).append(":").append(std::to_string(port()));
}

int get_option(int fd, int level, int option) {
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(fd, level, option, &value, &size) == 0 ? value : -1;
}

void set_option(int fd, int level, int option, int value) {
    SYS(setsockopt(fd, level, option, &value, sizeof value));
}

int tcp_state(int fd) {
    tcp_info info{};
    socklen_t size = sizeof info;
    SYS(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size));
    return info.tcpi_state;
}

int unread(int fd) {
    return ask(fd, SIOCINQ);
}

int unacknowledged(int fd) {
    return ask(fd, SIOCOUTQ);
}

std::string tcp_condition(int fd) {
    // linux/tcp.h has more fields than netinet/tcp.h, and can't be included with it.
    struct {
        tcp_info known;
        std::uint64_t pacing_rate;
    } answer{};
    static_assert(sizeof(tcp_info) == offsetof(decltype(answer), pacing_rate));
    socklen_t size = sizeof answer;
    SYS(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &answer, &size));
    const tcp_info& info = answer.known;
    char text[400];
    snprintf(text, sizeof text,
             "state %u/%u, unread %d, unacknowledged %d (%u packets), retransmits %u, probes %u, backoff %u, rto %u "
             "us, rtt %u, cwnd %u, paced at %llu B/s, sent %u ago, received %u ago, acknowledged %u ago",
             info.tcpi_state, info.tcpi_ca_state, unread(fd), unacknowledged(fd), info.tcpi_unacked,
             info.tcpi_retransmits, info.tcpi_probes, info.tcpi_backoff, info.tcpi_rto, info.tcpi_rtt,
             info.tcpi_snd_cwnd, static_cast<unsigned long long>(answer.pacing_rate), info.tcpi_last_data_sent,
             info.tcpi_last_data_recv, info.tcpi_last_ack_recv);
    return text;
}

int tcp_listener(int family, int backlog) {
    const int fd = socket(family, SOCK_STREAM, 0);
    const Inet inet = Inet::loopback(family);
    // An earlier run may have left connections of the port in TIME_WAIT.
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (fd < 0 || bind(fd, inet.get(), inet.length) != 0) {
        skip("no %s here: %s", family == AF_INET ? "127.0.0.1" : "::1", strerror(errno));
    }
    SYS(listen(fd, backlog));
    return fd;
}

int tcp_connected(const Inet& to) {
    const int fd = SYS(socket(to.room.ss_family, SOCK_STREAM, 0));
    SYS(connect(fd, to.get(), to.length));
    return fd;
}

Connection tcp_connection(int family) {
    const int listener = tcp_listener(family);
    Connection made;
    made.client = tcp_connected(Inet::of(listener));
    made.server = SYS(accept(listener, nullptr, nullptr));
    SYS(close(listener));
    return made;
}

Connection udp_pair() {
    Connection made;
    made.server = SYS(socket(AF_INET, SOCK_DGRAM, 0));
    const Inet any = Inet::loopback(AF_INET);
    SYS(bind(made.server, any.get(), any.length));
    const Inet there = Inet::of(made.server);
    made.client = SYS(socket(AF_INET, SOCK_DGRAM, 0));
    SYS(connect(made.client, there.get(), there.length));
    return made;
}

void wait_with_datagram(Task& me) {
    enter_new_network();
    const auto [sender, receiver] = udp_pair();
    SYS(send(sender, "one", 3, 0));
    me.wait_for_check();
    char text[16]{};
    Inet from;
    from.length = sizeof from.room;
    const ssize_t size =
        recvfrom(receiver, text, sizeof text, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from.room), &from.length);
    CHECK(size == 3 && std::string(text) == "one", "got %zd: %s", size, text);
    CHECK(from == Inet::of(sender), "from %s", from.text().c_str());
}

void check_flows(int from, int to, const char* what) {
    CHECK(send(from, "!", 1, MSG_NOSIGNAL) == 1, "%s: send: %s", what, strerror(errno));
    pollfd wait{to, POLLIN, 0};
    CHECK(poll(&wait, 1, kPatience) == 1, "%s: nothing arrives", what);
    char byte = 0;
    CHECK(recv(to, &byte, 1, MSG_DONTWAIT) == 1 && byte == '!', "%s: received %d: %s", what, byte, strerror(errno));
}

unsigned char Stream::byte(std::uint64_t at) const {
    const std::uint64_t mixed = (at + seed_) * 0x9e3779b97f4a7c15;
    return static_cast<unsigned char>(mixed >> 56);
}

ssize_t Stream::send(int fd, std::size_t most) {
    std::array<unsigned char, 16384> block;
    const std::size_t size = std::min(most, block.size());
    for (std::size_t i = 0; i < size; ++i) {
        block[i] = byte(at_ + i);
    }
    const ssize_t sent = ::send(fd, block.data(), size, MSG_NOSIGNAL);
    at_ += sent > 0 ? static_cast<std::uint64_t>(sent) : 0;
    return sent;
}

ssize_t Stream::receive(int fd, std::size_t most) {
    std::array<unsigned char, 16384> block;
    const ssize_t got = recv(fd, block.data(), std::min(most, block.size()), 0);
    for (ssize_t i = 0; i < got; ++i, ++at_) {
        CHECK(block[static_cast<std::size_t>(i)] == byte(at_), "byte %llu of the stream is wrong",
              static_cast<unsigned long long>(at_));
    }
    return got;
}

void drain(const Connection& connection, Stream& received, std::uint64_t end, const char* what,
           const std::function<void()>& between) {
    constexpr std::size_t kMost = 1 << 20;
    while (received.at() < end) {
        between();
        pollfd wait{connection.server, POLLIN, 0};
        CHECK(poll(&wait, 1, kPatience) == 1, "%s stands still at %llu of %llu: sender %s, receiver %s", what,
              static_cast<unsigned long long>(received.at()), static_cast<unsigned long long>(end),
              tcp_condition(connection.client).c_str(), tcp_condition(connection.server).c_str());
        CHECK(received.receive(connection.server, kMost) > 0, "%s: %s", what, strerror(errno));
    }
}

}  // namespace zdtm
