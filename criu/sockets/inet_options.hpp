// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/image/arena.hpp"
#include "criu/sockets/socket_options.hpp"
#include "images/sk-inet.hpp"

/// Options of the levels IP, IPv6, ICMP, TCP, UDP (ip(7), ipv6(7), tcp(7), udp(7), <linux/in.h>, <linux/in6.h>).
namespace criu::sockets {

/// Type of an Internet socket.
struct InetType {
    int family = 0;
    int type = 0;
    int protocol = 0;
    friend auto operator<=>(const InetType&, const InetType&) = default;
};

/// Dump half. Options without a field in images are stored as "more" options, if they differ from a new socket of the
/// same type.
class InetOptionsDump {
public:
    /// Fills ip_opts, tcp_opts, v6only and more. `connected`: skips options that have another meaning for connections.
    /// Several threads may call it at once, in the network namespace `network` of the socket.
    void read(std::uint32_t network, int socket, const InetType& type, bool connected, KnownOptions known,
              InetSkEntry& out, Arena& arena);

private:
    using Value = std::optional<std::vector<std::byte>>;
    const std::vector<Value>& usual(std::uint32_t network, const InetType& type);

    std::mutex mutex_;
    /// Values of new sockets, one for each row of the table. They depend on sysctls of the network namespace.
    std::map<std::pair<std::uint32_t, InetType>, std::vector<Value>> usual_;
};

/// Sets options that affect bind(2). Called before it.
void restoreEarlyInetOptions(int socket, const InetSkEntry& entry, Log& log);

/// Sets all other options. Called when the socket has its addresses.
void restoreInetOptions(int socket, const InetSkEntry& entry, Log& log);

}  // namespace criu::sockets
