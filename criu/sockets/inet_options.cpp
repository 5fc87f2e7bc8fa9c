// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/inet_options.hpp"

#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/record.hpp"
#include "criu/sockets/socket_options.hpp"

namespace criu::sockets {
namespace {

// Numbers of options that the headers of some kernels or C libraries lack.
constexpr int kIpRecvErrorRfc4884 = 26;
constexpr int kIpLocalPortRange = 51;
constexpr int kIpv6RecvErrorRfc4884 = 31;
constexpr int kIpv6FlowInfo = 11;
constexpr int kIpv6FlowInfoSend = 33;
constexpr int kTcpTxDelay = 37;
constexpr int kTcpRtoMaxMs = 44;
constexpr int kTcpRtoMinUs = 45;
constexpr int kTcpDelayedAckMaxUs = 46;
constexpr int kTxRehash = 74;
constexpr int kIpv6RouterAlertIsolate = 30;
constexpr int kMptcpProtocol = 262;  // IPPROTO_MPTCP
constexpr int kUdpLiteSendCoverage = 10;
constexpr int kUdpLiteReceiveCoverage = 11;
constexpr int kRawIcmpFilter = 1;
constexpr int kIpv6FreeBind = 78;

/// Bits that describe which types of sockets have an option.
enum Has : unsigned {
    V4 = 1,          ///< IPv4
    V6 = 2,          ///< IPv6
    Dual = V4 | V6,  ///< IPv4 option that IPv6 sockets, except raw sockets, also have for their IPv4 packets
    Tcp = 4,
    Udp = 8,
    UdpLite = 16,
    Raw = 32,
    Ping = 64,
    Packets = Udp | UdpLite | Raw | Ping,
    All = Tcp | Packets,
};

enum class When : std::uint8_t {
    Late,
    Early,         ///< set before the socket gets an address
    NotConnected,  ///< like Early, but not for connections: getsockopt(2) returns a different value for a connection
    Lowered,       ///< set only for connections, and only if the value of the restored socket is higher
};

struct Row {
    const char* name;
    int level;
    int option;
    unsigned has;
    When when = When::Late;
    int setAt = 0;  ///< level for setsockopt(2); 0 if it equals the level for getsockopt(2)
};

// A restore sets the options in the order of this table.
constexpr Row kRows[] = {
    {"IP_TRANSPARENT", IPPROTO_IP, IP_TRANSPARENT, Dual | All, When::Early},
    {"IP_BIND_ADDRESS_NO_PORT", IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, Dual | All, When::Early},
    {"IP_LOCAL_PORT_RANGE", IPPROTO_IP, kIpLocalPortRange, Dual | All, When::Early},
    {"IP_OPTIONS", IPPROTO_IP, IP_OPTIONS, V4 | All},
    {"IP_RECVOPTS", IPPROTO_IP, IP_RECVOPTS, Dual | All},
    {"IP_RETOPTS", IPPROTO_IP, IP_RETOPTS, Dual | All},
    {"IP_RECVTTL", IPPROTO_IP, IP_RECVTTL, Dual | All},
    {"IP_RECVTOS", IPPROTO_IP, IP_RECVTOS, Dual | All},
    {"IP_MTU_DISCOVER", IPPROTO_IP, IP_MTU_DISCOVER, Dual | All},
    {"IP_RECVERR", IPPROTO_IP, IP_RECVERR, Dual | All},
    {"IP_RECVERR_RFC4884", IPPROTO_IP, kIpRecvErrorRfc4884, Dual | All},
    {"IP_PASSSEC", IPPROTO_IP, IP_PASSSEC, Dual | All},
    {"IP_RECVORIGDSTADDR", IPPROTO_IP, IP_RECVORIGDSTADDR, Dual | All},
    {"IP_MINTTL", IPPROTO_IP, IP_MINTTL, Dual | All},
    {"IP_CHECKSUM", IPPROTO_IP, IP_CHECKSUM, Dual | All},
    {"IP_RECVFRAGSIZE", IPPROTO_IP, IP_RECVFRAGSIZE, Dual | Packets},
    {"IP_UNICAST_IF", IPPROTO_IP, IP_UNICAST_IF, Dual | All},
    {"IP_MULTICAST_IF", IPPROTO_IP, IP_MULTICAST_IF, Dual | Packets},
    {"IP_MULTICAST_TTL", IPPROTO_IP, IP_MULTICAST_TTL, Dual | Packets},
    {"IP_MULTICAST_LOOP", IPPROTO_IP, IP_MULTICAST_LOOP, Dual | All},
    {"IP_MULTICAST_ALL", IPPROTO_IP, IP_MULTICAST_ALL, Dual | All},
    {"IP_ROUTER_ALERT", IPPROTO_IP, IP_ROUTER_ALERT, V4 | Raw},
    // IP_TOS, IP_TTL and IP_PKTINFO are here only for IPv6 sockets: for IPv4 sockets, images have separate fields for
    // them.
    {"IP_TOS", IPPROTO_IP, IP_TOS, V6 | All},
    {"IP_TTL", IPPROTO_IP, IP_TTL, V6 | All},
    {"IP_PKTINFO", IPPROTO_IP, IP_PKTINFO, V6 | All},

    {"IPV6_TRANSPARENT", IPPROTO_IPV6, IPV6_TRANSPARENT, V6 | All, When::Early},
    // SOL_RAW is the level for setsockopt(2), because ICMPv6 sockets refuse IPV6_CHECKSUM at level IPPROTO_IPV6 (RFC
    // 3542).
    {"IPV6_CHECKSUM", IPPROTO_IPV6, IPV6_CHECKSUM, V6 | Raw, When::Late, SOL_RAW},
    {"IPV6_FLOWINFO", IPPROTO_IPV6, kIpv6FlowInfo, V6 | All},
    {"IPV6_FLOWINFO_SEND", IPPROTO_IPV6, kIpv6FlowInfoSend, V6 | All},
    {"IPV6_UNICAST_HOPS", IPPROTO_IPV6, IPV6_UNICAST_HOPS, V6 | All},
    {"IPV6_UNICAST_IF", IPPROTO_IPV6, IPV6_UNICAST_IF, V6 | All},
    {"IPV6_MULTICAST_IF", IPPROTO_IPV6, IPV6_MULTICAST_IF, V6 | Packets},
    {"IPV6_MULTICAST_HOPS", IPPROTO_IPV6, IPV6_MULTICAST_HOPS, V6 | Packets},
    {"IPV6_MULTICAST_LOOP", IPPROTO_IPV6, IPV6_MULTICAST_LOOP, V6 | All},
    {"IPV6_MULTICAST_ALL", IPPROTO_IPV6, IPV6_MULTICAST_ALL, V6 | All},
    {"IPV6_MTU_DISCOVER", IPPROTO_IPV6, IPV6_MTU_DISCOVER, V6 | All},
    {"IPV6_RECVERR", IPPROTO_IPV6, IPV6_RECVERR, V6 | All},
    {"IPV6_RECVERR_RFC4884", IPPROTO_IPV6, kIpv6RecvErrorRfc4884, V6 | All},
    {"IPV6_RECVHOPLIMIT", IPPROTO_IPV6, IPV6_RECVHOPLIMIT, V6 | All},
    {"IPV6_RECVHOPOPTS", IPPROTO_IPV6, IPV6_RECVHOPOPTS, V6 | All},
    {"IPV6_RECVRTHDR", IPPROTO_IPV6, IPV6_RECVRTHDR, V6 | All},
    {"IPV6_RECVDSTOPTS", IPPROTO_IPV6, IPV6_RECVDSTOPTS, V6 | All},
    {"IPV6_RECVPATHMTU", IPPROTO_IPV6, IPV6_RECVPATHMTU, V6 | All},
    {"IPV6_RECVTCLASS", IPPROTO_IPV6, IPV6_RECVTCLASS, V6 | All},
    {"IPV6_RECVORIGDSTADDR", IPPROTO_IPV6, IPV6_RECVORIGDSTADDR, V6 | All},
    {"IPV6_RECVFRAGSIZE", IPPROTO_IPV6, IPV6_RECVFRAGSIZE, V6 | All},
    {"IPV6_TCLASS", IPPROTO_IPV6, IPV6_TCLASS, V6 | All},
    {"IPV6_DONTFRAG", IPPROTO_IPV6, IPV6_DONTFRAG, V6 | All},
    {"IPV6_AUTOFLOWLABEL", IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, V6 | All},
    {"IPV6_ADDR_PREFERENCES", IPPROTO_IPV6, IPV6_ADDR_PREFERENCES, V6 | All},
    {"IPV6_MINHOPCOUNT", IPPROTO_IPV6, IPV6_MINHOPCOUNT, V6 | All},

    // The image has only 0 or another number, because getsockopt(2) doesn't return the value itself.
    {"IPV6_ROUTER_ALERT", IPPROTO_IPV6, IPV6_ROUTER_ALERT, V6 | Raw},
    {"IPV6_ROUTER_ALERT_ISOLATE", IPPROTO_IPV6, kIpv6RouterAlertIsolate, V6 | All},
    {"IPV6_2292PKTINFO", IPPROTO_IPV6, IPV6_2292PKTINFO, V6 | All},
    {"IPV6_2292HOPOPTS", IPPROTO_IPV6, IPV6_2292HOPOPTS, V6 | All},
    {"IPV6_2292DSTOPTS", IPPROTO_IPV6, IPV6_2292DSTOPTS, V6 | All},
    {"IPV6_2292RTHDR", IPPROTO_IPV6, IPV6_2292RTHDR, V6 | All},
    {"IPV6_2292HOPLIMIT", IPPROTO_IPV6, IPV6_2292HOPLIMIT, V6 | All},
    {"IPV6_RTHDR", IPPROTO_IPV6, IPV6_RTHDR, V6 | All},  // must be before the options below, because they require it
    {"IPV6_HOPOPTS", IPPROTO_IPV6, IPV6_HOPOPTS, V6 | All},
    {"IPV6_RTHDRDSTOPTS", IPPROTO_IPV6, IPV6_RTHDRDSTOPTS, V6 | All},
    {"IPV6_DSTOPTS", IPPROTO_IPV6, IPV6_DSTOPTS, V6 | All},

    {"TCP_MAXSEG", IPPROTO_TCP, TCP_MAXSEG, Dual | Tcp, When::NotConnected},
    {"TCP_WINDOW_CLAMP", IPPROTO_TCP, TCP_WINDOW_CLAMP, Dual | Tcp, When::NotConnected},
    // For connections, because the kernel chooses the window clamp of a new connection, and raises it when the receive
    // buffer grows.
    {"TCP_WINDOW_CLAMP", IPPROTO_TCP, TCP_WINDOW_CLAMP, Dual | Tcp, When::Lowered},
    {"TCP_SAVE_SYN", IPPROTO_TCP, TCP_SAVE_SYN, Dual | Tcp, When::Early},
    {"TCP_FASTOPEN_CONNECT", IPPROTO_TCP, TCP_FASTOPEN_CONNECT, Dual | Tcp, When::NotConnected},
    {"TCP_FASTOPEN", IPPROTO_TCP, TCP_FASTOPEN, Dual | Tcp, When::NotConnected},
    {"TCP_FASTOPEN_KEY", IPPROTO_TCP, TCP_FASTOPEN_KEY, Dual | Tcp, When::NotConnected},
    // Early, because the kernel refuses to set the option on a connection. A connection gets the value of its listener.
    {"TCP_FASTOPEN_NO_COOKIE", IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, Dual | Tcp, When::Early},
    {"TCP_CONGESTION", IPPROTO_TCP, TCP_CONGESTION, Dual | Tcp},
    {"TCP_SYNCNT", IPPROTO_TCP, TCP_SYNCNT, Dual | Tcp},
    {"TCP_LINGER2", IPPROTO_TCP, TCP_LINGER2, Dual | Tcp},
    {"TCP_DEFER_ACCEPT", IPPROTO_TCP, TCP_DEFER_ACCEPT, Dual | Tcp},
    {"TCP_THIN_LINEAR_TIMEOUTS", IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, Dual | Tcp},
    {"TCP_USER_TIMEOUT", IPPROTO_TCP, TCP_USER_TIMEOUT, Dual | Tcp},
    {"TCP_NOTSENT_LOWAT", IPPROTO_TCP, TCP_NOTSENT_LOWAT, Dual | Tcp},
    {"TCP_INQ", IPPROTO_TCP, TCP_INQ, Dual | Tcp},
    {"TCP_TX_DELAY", IPPROTO_TCP, kTcpTxDelay, Dual | Tcp},
    {"TCP_RTO_MAX_MS", IPPROTO_TCP, kTcpRtoMaxMs, Dual | Tcp},
    {"TCP_RTO_MIN_US", IPPROTO_TCP, kTcpRtoMinUs, Dual | Tcp},
    {"TCP_DELACK_MAX_US", IPPROTO_TCP, kTcpDelayedAckMaxUs, Dual | Tcp},

    {"UDP_ENCAP", IPPROTO_UDP, UDP_ENCAP, Dual | Udp | UdpLite},
    {"UDP_NO_CHECK6_TX", IPPROTO_UDP, UDP_NO_CHECK6_TX, Dual | Udp | UdpLite},
    {"UDP_NO_CHECK6_RX", IPPROTO_UDP, UDP_NO_CHECK6_RX, Dual | Udp | UdpLite},
    {"UDP_SEGMENT", IPPROTO_UDP, UDP_SEGMENT, Dual | Udp | UdpLite},
    {"UDP_GRO", IPPROTO_UDP, UDP_GRO, Dual | Udp | UdpLite},
    {"UDPLITE_SEND_CSCOV", IPPROTO_UDPLITE, kUdpLiteSendCoverage, Dual | UdpLite},
    {"UDPLITE_RECV_CSCOV", IPPROTO_UDPLITE, kUdpLiteReceiveCoverage, Dual | UdpLite},

    {"SO_MAX_PACING_RATE", SOL_SOCKET, SO_MAX_PACING_RATE, Dual | All},
    {"SO_BUSY_POLL", SOL_SOCKET, SO_BUSY_POLL, Dual | All},
    {"SO_TIMESTAMPING", SOL_SOCKET, SO_TIMESTAMPING, Dual | All},
    {"SO_TIMESTAMPING_NEW", SOL_SOCKET, kTimestampingNew, Dual | All},
    {"SO_TXTIME", SOL_SOCKET, kTxTime, Dual | All},
    {"SO_PREFER_BUSY_POLL", SOL_SOCKET, kPreferBusyPoll, Dual | All},
    {"SO_TXREHASH", SOL_SOCKET, kTxRehash, Dual | Tcp},
};

constexpr std::size_t kLongest = 2048;  // maximum bytes of a value, for IPv6 headers

unsigned bitsOf(const SocketType& type) {
    const unsigned family = type.family == AF_INET ? V4 : V6;
    if (type.type == SOCK_RAW)
        return family | Raw;
    switch (type.protocol) {
        case IPPROTO_UDP:
            return family | Udp;
        case IPPROTO_UDPLITE:
            return family | UdpLite;
        case IPPROTO_ICMP:
        case IPPROTO_ICMPV6:
            return family | Ping;
        default:
            return family | Tcp;
    }
}

bool applies(const Row& row, const SocketType& type) {
    const unsigned bits = bitsOf(type);
    if ((row.has & bits & Dual) == 0 || (row.has & bits & All) == 0)
        return false;
    return type.type != SOCK_RAW || type.family == AF_INET || row.level != IPPROTO_IP;
}

std::optional<std::vector<std::byte>> read(int socket, const Row& row) {
    std::array<std::byte, kLongest> value;
    socklen_t size = value.size();
    if (::getsockopt(socket, row.level, row.option, value.data(), &size) == 0)
        return std::vector<std::byte>(value.begin(), value.begin() + size);
    if (errno == ENOPROTOOPT || errno == EOPNOTSUPP || errno == ENOTCONN || errno == EINVAL)
        return std::nullopt;  // this kernel doesn't have the option, or a socket in this state has no value
    failErrno("read socket option {}", row.name);
}

std::vector<std::byte> bytesOf(int value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return {bytes.begin(), bytes.end()};
}

int readInt(int socket, int level, int option, const char* name) {
    int value = 0;
    socklen_t size = sizeof(value);
    if (::getsockopt(socket, level, option, &value, &size) == 0 || errno == ENOPROTOOPT || errno == EOPNOTSUPP)
        return value;
    failErrno("read socket option {}", name);
}

void writeInt(int socket, int level, int option, int value, const char* name, KnownOptions fresh = {}) {
    const std::optional<int> known = findOption(fresh, level, option);
    if ((known ? *known : readInt(socket, level, option, name)) != value)
        sys(::setsockopt(socket, level, option, &value, sizeof(value)), "set socket option {}", name);
}

void readRaw(int socket, const SocketType& type, IpOptsEntry& out, Arena& arena) {
    const bool v6 = type.family == AF_INET6;
    auto& raw = *arena.make<IpOptsRawEntry>();
    out.raw = &raw;
    // Always stored, even the value 0: the default of IPPROTO_RAW sockets is 1.
    raw.has_hdrincl = 1;
    raw.hdrincl = (v6 ? readInt(socket, IPPROTO_IPV6, IPV6_HDRINCL, "IPV6_HDRINCL")
                      : readInt(socket, IPPROTO_IP, IP_HDRINCL, "IP_HDRINCL")) != 0;
    if (!v6)
        raw.has_nodefrag = raw.nodefrag = readInt(socket, IPPROTO_IP, IP_NODEFRAG, "IP_NODEFRAG") != 0;
    if (type.protocol != (v6 ? int{IPPROTO_ICMPV6} : int{IPPROTO_ICMP}))
        return;
    std::array<std::uint32_t, sizeof(icmp6_filter) / sizeof(std::uint32_t)> filter{};
    socklen_t size = v6 ? sizeof(icmp6_filter) : sizeof(icmp_filter);
    sys(::getsockopt(socket, v6 ? int{IPPROTO_ICMPV6} : int{IPPROTO_RAW}, v6 ? ICMPV6_FILTER : kRawIcmpFilter,
                     filter.data(), &size),
        "read the filter of an ICMP socket");
    raw.n_icmpv_filter = size / sizeof(std::uint32_t);
    raw.icmpv_filter = arena.copy(std::span<const std::uint32_t>(filter.data(), raw.n_icmpv_filter));
}

IpOptsEntry* readIp(int socket, const SocketType& type, KnownOptions known, Arena& arena) {
    auto& out = *arena.make<IpOptsEntry>();
    const auto number = [&](int level, int option, const char* name) {
        const std::optional<int> listed = findOption(known, level, option);
        return listed ? *listed : readInt(socket, level, option, name);
    };
    const auto flag = [&](int level, int option, const char* name) { return number(level, option, name) != 0; };
    if (type.family == AF_INET) {
        out.has_freebind = out.freebind = flag(IPPROTO_IP, IP_FREEBIND, "IP_FREEBIND");
        out.has_pktinfo = out.pktinfo = flag(IPPROTO_IP, IP_PKTINFO, "IP_PKTINFO");
        out.tos = static_cast<std::uint32_t>(number(IPPROTO_IP, IP_TOS, "IP_TOS"));
        out.ttl = static_cast<std::uint32_t>(readInt(socket, IPPROTO_IP, IP_TTL, "IP_TTL"));
        out.has_tos = out.tos != 0;
        out.has_ttl = out.ttl != 0;
    } else {
        out.has_freebind = out.freebind = flag(IPPROTO_IPV6, kIpv6FreeBind, "IPV6_FREEBIND");
        out.has_pktinfo = out.pktinfo = flag(IPPROTO_IPV6, IPV6_RECVPKTINFO, "IPV6_RECVPKTINFO");
    }
    if (type.type == SOCK_RAW)
        readRaw(socket, type, out, arena);
    return &out;
}

TcpOptsEntry* readTcp(int socket, Arena& arena) {
    auto& out = *arena.make<TcpOptsEntry>();
    out.has_nodelay = out.nodelay = readInt(socket, IPPROTO_TCP, TCP_NODELAY, "TCP_NODELAY") != 0;
    out.has_cork = out.cork = readInt(socket, IPPROTO_TCP, TCP_CORK, "TCP_CORK") != 0;
    const auto number = [&](int option, const char* name, protobuf_c_boolean& has, std::uint32_t& field) {
        field = static_cast<std::uint32_t>(readInt(socket, IPPROTO_TCP, option, name));
        has = field != 0;
    };
    number(TCP_KEEPCNT, "TCP_KEEPCNT", out.has_keepcnt, out.keepcnt);
    number(TCP_KEEPIDLE, "TCP_KEEPIDLE", out.has_keepidle, out.keepidle);
    number(TCP_KEEPINTVL, "TCP_KEEPINTVL", out.has_keepintvl, out.keepintvl);
    return &out;
}

void writeRaw(int socket, const SocketType& type, const IpOptsRawEntry& raw) {
    const bool v6 = type.family == AF_INET6;
    if (raw.has_hdrincl != 0)
        writeInt(socket, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_HDRINCL : IP_HDRINCL, raw.hdrincl, "IP_HDRINCL");
    if (raw.has_nodefrag != 0 && !v6)
        writeInt(socket, IPPROTO_IP, IP_NODEFRAG, raw.nodefrag, "IP_NODEFRAG");
    if (raw.n_icmpv_filter != 0)
        sys(::setsockopt(socket, v6 ? int{IPPROTO_ICMPV6} : int{IPPROTO_RAW}, v6 ? ICMPV6_FILTER : kRawIcmpFilter,
                         raw.icmpv_filter, static_cast<socklen_t>(raw.n_icmpv_filter * sizeof(std::uint32_t))),
            "set the filter of an ICMP socket");
}

bool isEarly(const Row& row) {
    return row.when == When::Early || row.when == When::NotConnected;
}

/// True if a restore sets the option for sockets in this state. `connected`: the socket is a connection.
bool fits(const Row& row, bool connected) {
    return row.when == When::NotConnected ? !connected : row.when != When::Lowered || connected;
}

/// True if the socket's value is at most the wanted value.
bool isLow(int socket, const Row& row, const SkMoreOpt& wanted) {
    std::uint32_t value = 0;
    if (wanted.value.len != sizeof(value))
        return false;
    std::memcpy(&value, wanted.value.data, sizeof(value));
    return static_cast<std::uint32_t>(readInt(socket, row.level, row.option, row.name)) <= value;
}

void writeMore(int socket, const InetSkEntry& entry, bool early, Log& log) {
    for (const Row& row : kRows) {
        if (isEarly(row) != early || !fits(row, entry.dst_port != 0))
            continue;
        for (const SkMoreOpt* const more : list(entry.more, entry.n_more)) {
            if (more->level != static_cast<std::uint32_t>(row.level) ||
                more->name != static_cast<std::uint32_t>(row.option))
                continue;
            if (row.when == When::Lowered && isLow(socket, row, *more))
                continue;
            if (::setsockopt(socket, row.setAt != 0 ? row.setAt : row.level, row.option, more->value.data,
                             static_cast<socklen_t>(more->value.len)) == 0)
                continue;
            if (errno != ENOPROTOOPT && errno != EOPNOTSUPP)
                failErrno("set socket option {}", row.name);
            log.warn("This kernel doesn't know socket option {}, which the dumped socket had set", row.name);
        }
    }
}

/// Options of Internet sockets that criu changes before it restores options: bind(2) and repair mode need SO_REUSEADDR
/// and SO_REUSEPORT, and the kernel sets SO_PRIORITY with IP_TOS (ip(7)).
constexpr std::array kChangedInet = {SO_REUSEADDR, SO_REUSEPORT, SO_PRIORITY, SO_RCVBUF};

}  // namespace

const std::vector<InetOptionsDump::Value>& InetOptionsDump::usual(std::uint32_t network, const SocketType& type) {
    const std::lock_guard lock(mutex_);
    const auto known = usual_.find({network, type});
    if (known != usual_.end())
        return known->second;
    std::vector<Value> values(std::size(kRows));
    const UniqueFd fresh(::socket(type.family, type.type | SOCK_CLOEXEC, type.protocol));
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!applies(kRows[i], type))
            continue;
        if (fresh)
            values[i] = sockets::read(fresh.get(), kRows[i]);
        else
            // if criu may not create a ping socket (sysctl net.ipv4.ping_group_range), assumes that all default values
            // are 0
            values[i] = std::vector<std::byte>(sizeof(int));
    }
    return usual_.emplace(std::pair(network, type), std::move(values)).first->second;
}

void InetOptionsDump::read(std::uint32_t network, int socket, const SocketType& type, bool connected,
                           KnownOptions known, InetSkEntry& out, Arena& arena) {
    out.ip_opts = readIp(socket, type, known, arena);
    if (type.family == AF_INET6) {
        out.has_v6only = 1;
        out.v6only = readInt(socket, IPPROTO_IPV6, IPV6_V6ONLY, "IPV6_V6ONLY") != 0;
    }
    out.tcp_opts = (type.protocol == IPPROTO_TCP || type.protocol == kMptcpProtocol) && type.type == SOCK_STREAM
                       ? readTcp(socket, arena)
                       : arena.make<TcpOptsEntry>();
    const std::vector<Value>& standard = usual(network, type);
    out.more = arena.array<SkMoreOpt*>(std::size(kRows));
    for (std::size_t i = 0; i < std::size(kRows); ++i) {
        const Row& row = kRows[i];
        if (!standard[i] || !fits(row, connected))
            continue;
        const std::optional<int> listed = findOption(known, row.level, row.option);
        const Value value = listed ? bytesOf(*listed) : sockets::read(socket, row);
        if (!value || *value == *standard[i])
            continue;
        auto& more = *arena.make<SkMoreOpt>();
        more.level = static_cast<std::uint32_t>(row.level);
        more.name = static_cast<std::uint32_t>(row.option);
        more.value = arena.bytes(*value);
        out.more[out.n_more++] = &more;
    }
}

void restoreEarlyInetOptions(int socket, const InetSkEntry& entry, Log& log, KnownOptions fresh) {
    if (entry.has_v6only != 0 && entry.family == AF_INET6)
        writeInt(socket, IPPROTO_IPV6, IPV6_V6ONLY, entry.v6only, "IPV6_V6ONLY", fresh);
    writeMore(socket, entry, true, log);
}

void restoreInetOptions(int socket, const InetSkEntry& entry, Log& log, KnownOptions fresh) {
    const SocketType type{static_cast<int>(entry.family), static_cast<int>(entry.type), static_cast<int>(entry.proto)};
    if (const IpOptsEntry* const ip = entry.ip_opts; ip != nullptr) {
        const bool v6 = type.family == AF_INET6;
        writeInt(socket, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? kIpv6FreeBind : IP_FREEBIND,
                 ip->has_freebind != 0 ? ip->freebind : 0, "IP_FREEBIND");
        if (ip->has_pktinfo != 0)
            writeInt(socket, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVPKTINFO : IP_PKTINFO, ip->pktinfo,
                     "IP_PKTINFO", fresh);
        if (ip->has_tos != 0 && !v6)
            writeInt(socket, IPPROTO_IP, IP_TOS, static_cast<int>(ip->tos), "IP_TOS", fresh);
        if (ip->has_ttl != 0 && !v6)
            writeInt(socket, IPPROTO_IP, IP_TTL, static_cast<int>(ip->ttl), "IP_TTL", fresh);
        if (ip->raw != nullptr && type.type == SOCK_RAW)
            writeRaw(socket, type, *ip->raw);
    }
    if (const TcpOptsEntry* const tcp = entry.tcp_opts; tcp != nullptr && type.type == SOCK_STREAM) {
        const auto number = [&](int option, const char* name, protobuf_c_boolean has, std::uint32_t value) {
            if (has != 0)
                writeInt(socket, IPPROTO_TCP, option, static_cast<int>(value), name, fresh);
        };
        number(TCP_NODELAY, "TCP_NODELAY", tcp->has_nodelay, tcp->nodelay);
        number(TCP_CORK, "TCP_CORK", tcp->has_cork, tcp->cork);
        number(TCP_KEEPCNT, "TCP_KEEPCNT", tcp->has_keepcnt, tcp->keepcnt);
        number(TCP_KEEPIDLE, "TCP_KEEPIDLE", tcp->has_keepidle, tcp->keepidle);
        number(TCP_KEEPINTVL, "TCP_KEEPINTVL", tcp->has_keepintvl, tcp->keepintvl);
    }
    writeMore(socket, entry, false, log);
}

std::vector<KnownOption> readFreshInetSocket(int socket, const SocketType& type) {
    std::vector<KnownOption> values = readFreshSocket(socket);
    std::erase_if(values, [](const KnownOption& known) {
        return known.level == SOL_SOCKET &&
               std::find(kChangedInet.begin(), kChangedInet.end(), known.option) != kChangedInet.end();
    });
    const auto add = [&](std::initializer_list<std::pair<int, int>> options) {
        for (const auto& [level, option] : options) {
            int value = 0;
            socklen_t size = sizeof(value);
            if (::getsockopt(socket, level, option, &value, &size) == 0)
                values.push_back({level, option, value});
        }
    };
    if (type.family == AF_INET6)
        add({{IPPROTO_IPV6, IPV6_V6ONLY}, {IPPROTO_IPV6, IPV6_RECVPKTINFO}});
    else
        add({{IPPROTO_IP, IP_PKTINFO}, {IPPROTO_IP, IP_TOS}, {IPPROTO_IP, IP_TTL}});
    if (type.type == SOCK_STREAM)
        add({{IPPROTO_TCP, TCP_NODELAY},
             {IPPROTO_TCP, TCP_CORK},
             {IPPROTO_TCP, TCP_KEEPCNT},
             {IPPROTO_TCP, TCP_KEEPIDLE},
             {IPPROTO_TCP, TCP_KEEPINTVL}});
    return values;
}

}  // namespace criu::sockets
