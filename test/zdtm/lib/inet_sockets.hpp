// SPDX-License-Identifier: GPL-2.0-only
// What tests of Internet sockets need: addresses of this host, connections, streams that prove their order.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace zdtm {

// An address of IPv4 or IPv6.
struct Inet {
    sockaddr_storage room{};
    socklen_t length = 0;

    // 127.0.0.1 or ::1. Port 0: any.
    static Inet loopback(int family, std::uint16_t port = 0);
    // ::ffff:127.0.0.1.
    static Inet mapped(std::uint16_t port);
    // What getsockname(2) and getpeername(2) say.
    static Inet of(int fd);
    static Inet of_peer(int fd);

    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&room); }
    std::uint16_t port() const;
    // "127.0.0.1:80".
    std::string text() const;
    bool operator==(const Inet& other) const { return text() == other.text(); }
};

// The value of an option that is a number; -1 if there is no such option here.
int get_option(int fd, int level, int option);
void set_option(int fd, int level, int option, int value);

// TCP_ESTABLISHED and so on.
int tcp_state(int fd);
// Bytes that wait to be read, and those the peer hasn't acknowledged.
int unread(int fd);
int unacknowledged(int fd);
// What the kernel says of a TCP connection, for messages of tests that find it standing still: queues, timers, times in
// ms.
std::string tcp_condition(int fd);

// A TCP socket of this host that listens. Skips the test if the host lacks the family.
int tcp_listener(int family, int backlog = 16);
int tcp_connected(const Inet& to);

struct Connection {
    int client = -1;
    int server = -1;
};

// Both ends of a TCP connection within this host.
Connection tcp_connection(int family);

// Requires a byte to get from one to the other within seconds.
void check_flows(int from, int to, const char* what);

// A stream of bytes that depends on position and seed only.
class Stream {
public:
    explicit Stream(std::uint64_t seed) : seed_(seed) {}

    // Sends the next bytes, as many as go at once and at most `most`. -1 and errno of send(2).
    ssize_t send(int fd, std::size_t most);
    // Receives, and fails at the first byte that isn't the next one. 0 at the end, -1 and errno of recv(2).
    ssize_t receive(int fd, std::size_t most);
    // Position.
    std::uint64_t at() const { return at_; }

private:
    unsigned char byte(std::uint64_t at) const;

    std::uint64_t seed_;
    std::uint64_t at_ = 0;
};

}  // namespace zdtm
