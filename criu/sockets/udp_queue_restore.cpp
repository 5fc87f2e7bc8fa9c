// SPDX-License-Identifier: GPL-2.0-only
#include <linux/filter.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <span>
#include <thread>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/record.hpp"
#include "criu/sockets/host_addresses.hpp"
#include "criu/sockets/internet_checksum.hpp"
#include "criu/sockets/network_lock.hpp"
#include "criu/sockets/udp_queue.hpp"
#include "images/sk-inet.hpp"
#include "images/sk-opts.hpp"

namespace criu::sockets {
namespace {

constexpr std::uint8_t kUsualHops = 64;
constexpr std::size_t kLongestPacket = 65535;

/// Datagram as a packet of one family.
struct UdpPacket {
    InetEndpoint from;
    InetEndpoint to;
    std::span<const std::byte> data;
    std::uint8_t hops = kUsualHops;
    std::uint8_t trafficClass = 0;
};

template <typename Ip>
std::vector<std::byte> joined(const Ip& ip, const udphdr& udp, std::span<const std::byte> data) {
    std::vector<std::byte> packet(sizeof(ip) + sizeof(udp) + data.size());
    std::memcpy(packet.data(), &ip, sizeof(ip));
    std::memcpy(packet.data() + sizeof(ip), &udp, sizeof(udp));
    if (!data.empty())
        std::memcpy(packet.data() + sizeof(ip) + sizeof(udp), data.data(), data.size());
    return packet;
}

std::vector<std::byte> encodeUdp(const UdpPacket& packet) {
    const std::size_t length = sizeof(udphdr) + packet.data.size();
    const bool v4 = packet.to.family == AF_INET;
    if (length + (v4 ? sizeof(iphdr) : 0) > kLongestPacket)
        fail("a datagram of {} bytes is too long", packet.data.size());
    udphdr udp{};
    udp.source = htons(packet.from.port);
    udp.dest = htons(packet.to.port);
    udp.len = htons(static_cast<std::uint16_t>(length));
    const PseudoHeader pseudo{packet.from.words, packet.to.words, htonl(static_cast<std::uint32_t>(length)),
                              htonl(IPPROTO_UDP)};
    udp.check = checksumOf(wordSum(headerBytes(pseudo)) + wordSum(headerBytes(udp)) + wordSum(packet.data));
    if (udp.check == 0)
        udp.check = 0xffff;  // 0 means that there is no checksum (RFC 768)
    if (v4) {
        iphdr ip{};
        ip.version = 4;
        ip.ihl = sizeof(ip) / sizeof(std::uint32_t);
        ip.tos = packet.trafficClass;
        ip.tot_len = htons(static_cast<std::uint16_t>(sizeof(ip) + length));
        ip.ttl = packet.hops;
        ip.protocol = IPPROTO_UDP;
        ip.saddr = packet.from.words[0];
        ip.daddr = packet.to.words[0];
        ip.check = checksumOf(wordSum(headerBytes(ip)));
        return joined(ip, udp, packet.data);
    }
    ip6_hdr ip{};
    constexpr std::uint32_t kVersion = 6U << 28;
    constexpr unsigned kClassShift = 20;
    ip.ip6_flow = htonl(kVersion | std::uint32_t{packet.trafficClass} << kClassShift);
    ip.ip6_plen = htons(static_cast<std::uint16_t>(length));
    ip.ip6_nxt = IPPROTO_UDP;
    ip.ip6_hlim = packet.hops;
    std::memcpy(&ip.ip6_src, packet.from.words.data(), sizeof(ip.ip6_src));
    std::memcpy(&ip.ip6_dst, packet.to.words.data(), sizeof(ip.ip6_dst));
    return joined(ip, udp, packet.data);
}

/// Returns the number of bytes of kernel memory in the queue of a socket.
std::uint32_t queuedBytes(int socket) {
    std::array<std::uint32_t, 16> values{};
    socklen_t size = sizeof(values);
    sys(::getsockopt(socket, SOL_SOCKET, SO_MEMINFO, values.data(), &size), "read the queue size of a socket");
    return values[0];  // SK_MEMINFO_RMEM_ALLOC
}

/// Returns false if the datagram doesn't arrive.
bool awaitArrival(int socket, std::uint32_t before) {
    constexpr unsigned kTries = 2000;
    constexpr unsigned kTriesWithoutPause = 100;
    for (unsigned tries = 0; tries < kTries; ++tries) {
        if (queuedBytes(socket) > before)
            return true;
        if (tries >= kTriesWithoutPause)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

/// Throws Error if the value doesn't fit into a header. `name`: field of the header.
std::uint8_t octet(std::uint32_t value, const char* name) {
    if (value > std::numeric_limits<std::uint8_t>::max())
        fail("a datagram has the {} {}", name, value);
    return static_cast<std::uint8_t>(value);
}

InetEndpoint loopbackOf(int family) {
    InetEndpoint end;
    end.family = family;
    end.words[family == AF_INET ? 0 : 3] = htonl(family == AF_INET ? INADDR_LOOPBACK : 1);
    return end;
}

/// Fills one socket.
class Refill {
public:
    Refill(int socket, const InetSkEntry& entry, const QueuePlace& place)
        : socket_(socket), entry_(entry), place_(place), hostAddresses_(readHostAddresses()) {}

    /// Returns false if the datagram doesn't arrive. Throws Error if it can't be sent.
    [[nodiscard]] bool send(const InetDatagram& datagram) const {
        UdpPacket packet;
        const int family = static_cast<int>(entry_.family);
        InetEndpoint source = InetEndpoint::fromImage(family, list(datagram.source, datagram.n_source), datagram.port);
        source.replaceAddress(place_.inetMap);
        packet.from = source.unmapped();
        packet.to = destinationOf(datagram, packet.from.family);
        packet.to.port = place_.local.port;
        packet.data = {reinterpret_cast<const std::byte*>(datagram.data.data), datagram.data.len};
        if (datagram.has_ttl != 0)
            packet.hops = octet(datagram.ttl, "TTL");
        packet.trafficClass = octet(datagram.tos, "TOS");
        if (packet.to.family != packet.from.family)
            fail("a datagram from {} to {} has addresses of two families", packet.from.text(), packet.to.text());
        // Keeps the packet on this host: bind(2) accepts foreign addresses too (ip_nonlocal_bind).
        if (!isOfHost(packet.to, hostAddresses_))
            fail("a datagram was sent to {}, which isn't an address of this host", packet.to.address());
        const std::vector<std::byte> bytes = encodeUdp(packet);
        const std::uint32_t before = queuedBytes(socket_);
        sendPacket(packet, bytes);
        return awaitArrival(socket_, before);
    }

private:
    [[nodiscard]] InetEndpoint destinationOf(const InetDatagram& datagram, int family) const {
        if (datagram.n_destination != 0) {
            InetEndpoint wanted = InetEndpoint::fromImage(datagram.n_destination == 1 ? AF_INET : AF_INET6,
                                                          list(datagram.destination, datagram.n_destination), 0);
            InetEndpoint before = place_.dumped.unmapped();
            before.port = 0;
            if (wanted == before)
                return place_.local.unmapped();
            wanted.replaceAddress(place_.inetMap);
            return wanted;
        }
        if (!place_.local.isAny())
            return place_.local.unmapped();
        return place_.device != 0 ? addressOfDevice(family) : loopbackOf(family);
    }

    [[nodiscard]] InetEndpoint addressOfDevice(int family) const {
        for (const HostAddress& each : hostAddresses_)
            if (each.interface == place_.device && each.address.family == family && !each.address.needsScope())
                return each.address;
        fail("interface {} has no address", place_.device);
    }

    static void sendPacket(const UdpPacket& packet, const std::vector<std::byte>& bytes) {
        // IPPROTO_RAW means that the packet contains its own IP header.
        const UniqueFd raw(
            sys(::socket(packet.to.family, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW), "create a raw socket"));
        sys(::setsockopt(raw.get(), SOL_SOCKET, SO_MARK, &kPassingMark, sizeof(kPassingMark)), "mark packets");
        const int room = static_cast<int>(2 * kLongestPacket);
        (void)::setsockopt(raw.get(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
        SocketAddress to{};
        const socklen_t length = packet.to.store(to);
        if (packet.to.family == AF_INET6)
            to.v6.sin6_port = 0;  // a raw IPv6 socket interprets sin6_port as a protocol number
        if (::sendto(raw.get(), bytes.data(), bytes.size(), 0, &to.generic, length) < 0)
            failErrno("send a datagram to {} in the name of {}", packet.to.text(), packet.from.text());
    }

    int socket_;
    const InetSkEntry& entry_;
    const QueuePlace& place_;
    std::vector<HostAddress> hostAddresses_;
};

/// Lets the queue hold all datagrams, whose memory may be larger than before.
void makeRoom(int socket, const InetSkEntry& entry) {
    constexpr std::size_t kPerDatagram = 4096;
    std::size_t room = 0;
    for (const InetDatagram* const datagram : list(entry.datagrams, entry.n_datagrams))
        room += kPerDatagram + 2 * datagram->data.len;
    const int wanted = static_cast<int>(std::min<std::size_t>(room, std::size_t{1} << 30));
    if (::setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, &wanted, sizeof(wanted)) != 0)
        (void)::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &wanted, sizeof(wanted));
}

}  // namespace

bool showsDestinationPort(const InetSkEntry& entry) noexcept {
    for (const SkMoreOpt* const option : list(entry.more, entry.n_more))
        if ((option->level == IPPROTO_IP && option->name == IP_RECVORIGDSTADDR) ||
            (option->level == IPPROTO_IPV6 && option->name == IPV6_RECVORIGDSTADDR))
            return true;
    return false;
}

bool showsInterface(const InetSkEntry& entry) noexcept {
    if (entry.ip_opts != nullptr && entry.ip_opts->pktinfo != 0)
        return true;
    for (const SkMoreOpt* const option : list(entry.more, entry.n_more))
        if (option->level == IPPROTO_IP && option->name == IP_PKTINFO)
            return true;
    return false;
}

void unbind(int socket) {
    sockaddr none{};
    none.sa_family = AF_UNSPEC;
    sys(::connect(socket, &none, sizeof(none)), "take its address from a socket");
}

PassingFilter::PassingFilter(int socket) : socket_(socket) {
    constexpr std::uint32_t kMark = static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_MARK);
    constexpr std::uint32_t kAll = std::numeric_limits<std::uint32_t>::max();
    std::array code{sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kMark),
                    sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kPassingMark, 0, 1),
                    sock_filter BPF_STMT(BPF_RET | BPF_K, kAll), sock_filter BPF_STMT(BPF_RET | BPF_K, 0)};
    const sock_fprog program{code.size(), code.data()};
    sys(::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)), "filter the packets of others");
}

PassingFilter::~PassingFilter() {
    const int ignored = 0;
    (void)::setsockopt(socket_, SOL_SOCKET, SO_DETACH_FILTER, &ignored, sizeof(ignored));
}

void refillQueue(int socket, const InetSkEntry& entry, const QueuePlace& place, Log& log) {
    if (entry.n_datagrams == 0)
        return;
    if (entry.type != SOCK_DGRAM || entry.proto != IPPROTO_UDP || place.local.port == 0)
        fail("socket {} can't have datagrams of UDP", entry.ino);
    makeRoom(socket, entry);
    const Refill refill(socket, entry, place);
    const std::span<InetDatagram* const> all(entry.datagrams, entry.n_datagrams);
    std::size_t failed = 0;
    std::string reason;
    for (std::size_t i = 0; i < all.size(); ++i) {
        try {
            if (refill.send(*all[i]))
                continue;
            // The next ones would hardly arrive either, and each wait takes two seconds.
            failed += all.size() - i;
            reason = "a datagram didn't arrive; packet filters may have dropped it, or the interface may be down";
            break;
        } catch (const Error& error) {
            ++failed;
            reason = error.what();
        }
    }
    if (failed != 0)
        log.warn("{} of {} datagrams that waited in the socket at {} are lost: {}", failed, all.size(),
                 place.local.text(), reason);
}

}  // namespace criu::sockets
