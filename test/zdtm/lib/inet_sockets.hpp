// SPDX-License-Identifier: GPL-2.0-only
// Addresses of this host, connections, and streams of a known order, for tests of Internet sockets.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace zdtm {

class Task;

// An IPv4 or IPv6 address.
struct Inet {
    sockaddr_storage room{};
    socklen_t length = 0;

    // Returns 127.0.0.1 or ::1. Port 0 stands for any port.
    static Inet loopback(int family, std::uint16_t port = 0);
    // Returns ::ffff:127.0.0.1.
    static Inet mapped(std::uint16_t port);
    // Return the results of getsockname(2) and getpeername(2).
    static Inet of(int fd);
    static Inet of_peer(int fd);

    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&room); }
    std::uint16_t port() const;
    // Returns text such as "127.0.0.1:80".
    std::string text() const;
    bool operator==(const Inet& other) const { return text() == other.text(); }
};

// Returns the value of a numeric option; -1 if the kernel doesn't have the option.
int get_option(int fd, int level, int option);
void set_option(int fd, int level, int option, int value);

// Returns the state, for example TCP_ESTABLISHED.
int tcp_state(int fd);
// Return the number of unread bytes, and of bytes that the peer has not acknowledged.
int unread(int fd);
int unacknowledged(int fd);
// Returns the kernel's view of a TCP connection, for failure messages: queues, timers, times in milliseconds.
std::string tcp_condition(int fd);

// Makes a listening TCP socket on this host. Skips the test if the host lacks the address family.
int tcp_listener(int family, int backlog = 16);
int tcp_connected(const Inet& to);

struct Connection {
    int client = -1;
    int server = -1;
};

// Makes a TCP connection within this host, and returns both ends.
Connection tcp_connection(int family);

// Makes two UDP sockets of IPv4 on this host: the client sends to the server.
Connection udp_pair();

// Lets a datagram wait in a UDP socket of a new network namespace, until the check.
void wait_with_datagram(Task& me);

// Requires a byte to arrive at the other end within kPatience.
void check_flows(int from, int to, const char* what);

// A stream of bytes that depend on position and seed only.
class Stream {
public:
    explicit Stream(std::uint64_t seed) : seed_(seed) {}

    // Sends the next bytes without blocking, at most `most`. Returns the result of send(2).
    ssize_t send(int fd, std::size_t most);
    // Receives bytes, and fails at the first wrong one. Returns the result of recv(2).
    ssize_t receive(int fd, std::size_t most);
    // Returns the position.
    std::uint64_t at() const { return at_; }

private:
    unsigned char byte(std::uint64_t at) const;

    std::uint64_t seed_;
    std::uint64_t at_ = 0;
};

// Receives from `connection.server` until `received` has come to `end`. Fails if the connection stands still. Calls
// `between` before each receive.
void drain(
    const Connection& connection, Stream& received, std::uint64_t end, const char* what,
    const std::function<void()>& between = [] {});

}  // namespace zdtm
