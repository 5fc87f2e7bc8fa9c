// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/image/arena.hpp"
#include "criu/sockets/socket_options.hpp"
#include "images/sk-inet.hpp"

/// Socket options of the levels IP, IPv6, ICMP, TCP and UDP (ip(7), ipv6(7), tcp(7), udp(7), <linux/in.h>,
/// <linux/in6.h>).
namespace criu::sockets {

/// Dumps socket options. If images have no separate field for an option, stores the option in the field `more`, unless
/// it has the value of a new socket of the same type.
class InetOptionsDump {
public:
    /// Fills the fields ip_opts, tcp_opts, v6only and more. `connected`: skips options with a different meaning for
    /// connections. Several threads may call this function at the same time. Each must be in the socket's network
    /// namespace, which has the id `network`.
    void read(std::uint32_t network, int socket, const SocketType& type, bool connected, KnownOptions known,
              InetSkEntry& out, Arena& arena);

private:
    using Value = std::optional<std::vector<std::byte>>;
    const std::vector<Value>& usual(std::uint32_t network, const SocketType& type);

    std::mutex mutex_;
    /// Option values of new sockets, with one value for each row of the table. The key contains a network namespace,
    /// because the values depend on its sysctls.
    std::map<std::pair<std::uint32_t, SocketType>, std::vector<Value>> usual_;
};

/// Sets the options that affect bind(2). The caller calls bind(2) afterwards. `fresh`: values that the socket has.
void restoreEarlyInetOptions(int socket, const InetSkEntry& entry, Log& log, KnownOptions fresh = {});

/// Sets all options that don't affect bind(2). Call it when the socket has its addresses. `fresh`: values that the
/// socket has.
void restoreInetOptions(int socket, const InetSkEntry& entry, Log& log, KnownOptions fresh = {});

/// Reads the options of a new Internet socket that restoreInetOptions(), restoreEarlyInetOptions() and
/// restoreSocketOptions() would read of each socket. Omits options that criu changes while it opens a socket, such as
/// IP_FREEBIND. Throws Error.
[[nodiscard]] std::vector<KnownOption> readFreshInetSocket(int socket, const SocketType& type);

}  // namespace criu::sockets
