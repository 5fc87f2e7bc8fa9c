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

/// What kind of Internet socket it is.
struct InetType {
    int family = 0;
    int type = 0;
    int protocol = 0;
    friend auto operator<=>(const InetType&, const InetType&) = default;
};

/// Dump half. Options that images have no field for are stored (as "more" options) where their values differ from those
/// of a new socket of the same type.
class InetOptionsDump {
public:
    /// Fills ip_opts, tcp_opts, v6only and more. `connected`: options that then mean something else are left out. By
    /// several threads at once, which are in the socket's network namespace, `network`.
    void read(std::uint32_t network, int socket, const InetType& type, bool connected, KnownOptions known,
              InetSkEntry& out, Arena& arena);

private:
    using Value = std::optional<std::vector<std::byte>>;
    const std::vector<Value>& usual(std::uint32_t network, const InetType& type);

    std::mutex mutex_;
    /// Values of new sockets, for each row of the table; by network namespace, since sysctls decide some of them.
    std::map<std::pair<std::uint32_t, InetType>, std::vector<Value>> usual_;
};

/// Sets the options that decide whether the socket may have its address. Before bind(2).
void restoreEarlyInetOptions(int socket, const InetSkEntry& entry, Log& log);

/// Sets all other options. After the socket has its addresses.
void restoreInetOptions(int socket, const InetSkEntry& entry, Log& log);

}  // namespace criu::sockets
