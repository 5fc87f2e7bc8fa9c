// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/tcp_segment.hpp"

#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>

#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/sockets/internet_checksum.hpp"
#include "criu/sockets/network_lock.hpp"

namespace criu::sockets {
namespace {

constexpr std::uint8_t kHops = 64;

tcphdr tcpHeader(const TcpSegment& segment) {
    tcphdr header{};
    header.source = htons(segment.from.port);
    header.dest = htons(segment.to.port);
    header.seq = htonl(segment.sequence);
    header.ack_seq = htonl(segment.acknowledged);
    header.doff = sizeof(header) / sizeof(std::uint32_t);
    header.ack = 1;
    header.fin = segment.fin ? 1 : 0;
    header.rst = segment.reset ? 1 : 0;
    header.window = htons(segment.window);
    const PseudoHeader pseudo{segment.from.words, segment.to.words, htonl(sizeof(header)), htonl(IPPROTO_TCP)};
    header.check = checksumOf(wordSum(headerBytes(pseudo)) + wordSum(headerBytes(header)));
    return header;
}

template <typename Ip>
std::vector<std::byte> joined(const Ip& ip, const tcphdr& tcp) {
    std::vector<std::byte> packet(sizeof(ip) + sizeof(tcp));
    std::memcpy(packet.data(), &ip, sizeof(ip));
    std::memcpy(packet.data() + sizeof(ip), &tcp, sizeof(tcp));
    return packet;
}

}  // namespace

std::vector<std::byte> encodeSegment(const TcpSegment& segment) {
    const tcphdr tcp = tcpHeader(segment);
    if (segment.from.family == AF_INET) {
        iphdr ip{};
        ip.version = 4;
        ip.ihl = sizeof(ip) / sizeof(std::uint32_t);
        ip.tot_len = htons(sizeof(ip) + sizeof(tcp));
        ip.ttl = kHops;
        ip.protocol = IPPROTO_TCP;
        ip.saddr = segment.from.words[0];
        ip.daddr = segment.to.words[0];
        ip.check = checksumOf(wordSum(headerBytes(ip)));
        return joined(ip, tcp);
    }
    ip6_hdr ip{};
    constexpr std::uint32_t kVersion = 6U << 28;
    ip.ip6_flow = htonl(kVersion);
    ip.ip6_plen = htons(sizeof(tcp));
    ip.ip6_nxt = IPPROTO_TCP;
    ip.ip6_hlim = kHops;
    std::memcpy(&ip.ip6_src, segment.from.words.data(), sizeof(ip.ip6_src));
    std::memcpy(&ip.ip6_dst, segment.to.words.data(), sizeof(ip.ip6_dst));
    return joined(ip, tcp);
}

void forgeSegment(const TcpSegment& segment, std::uint32_t device) {
    // IPPROTO_RAW means that the packet contains its own IP header.
    const UniqueFd raw(sys(::socket(segment.to.family, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW), "create a raw socket"));
    sys(::setsockopt(raw.get(), SOL_SOCKET, SO_MARK, &kPassingMark, sizeof(kPassingMark)), "mark packets");
    SocketAddress to{};
    const socklen_t length = segment.to.store(to, device);
    if (segment.to.family == AF_INET6)
        to.v6.sin6_port = 0;  // a raw IPv6 socket interprets sin6_port as a protocol number
    const std::vector<std::byte> packet = encodeSegment(segment);
    if (::sendto(raw.get(), packet.data(), packet.size(), 0, &to.generic, length) < 0)
        failErrno("send a packet to {} in the name of {}", segment.to.text(), segment.from.text());
}

}  // namespace criu::sockets
