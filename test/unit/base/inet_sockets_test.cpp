// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/netlink_diag.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/kernel/net/inet_diag.hpp"
#include "criu/kernel/net/netlink_diag.hpp"
#include "criu/kernel/net/packet_diag.hpp"
#include "criu/sockets/inet_endpoint.hpp"
#include "criu/sockets/iptables_rule.hpp"
#include "criu/sockets/multicast.hpp"
#include "criu/sockets/network_lock.hpp"
#include "criu/sockets/tcp_segment.hpp"

using namespace criu;
using namespace criu::sockets;

namespace {

InetEndpoint end(int family, const char* address, std::uint16_t port) {
    InetEndpoint made;
    made.family = family;
    made.port = port;
    REQUIRE(inet_pton(family, address, made.words.data()) == 1);
    return made;
}

InetConnection connection(const char* local, std::uint16_t port, const char* remote, std::uint16_t other) {
    return {end(AF_INET, local, port), end(AF_INET, remote, other)};
}

template <typename Fixed>
std::vector<std::byte> answer(const Fixed& fixed, std::uint16_t type, std::span<const std::byte> value) {
    std::vector<std::byte> bytes(NLMSG_ALIGN(sizeof(fixed)) + NLA_HDRLEN + NLA_ALIGN(value.size()));
    std::memcpy(bytes.data(), &fixed, sizeof(fixed));
    const nlattr header{static_cast<std::uint16_t>(NLA_HDRLEN + value.size()), type};
    std::memcpy(bytes.data() + NLMSG_ALIGN(sizeof(fixed)), &header, sizeof(header));
    std::copy(value.begin(), value.end(),
              bytes.begin() + static_cast<std::ptrdiff_t>(NLMSG_ALIGN(sizeof(fixed)) + NLA_HDRLEN));
    return bytes;
}

/// Returns the sum of 16-bit words by RFC 1071: 0xffff over data that includes its checksum.
std::uint32_t checksum(std::span<const std::byte> bytes, std::uint32_t start) {
    std::uint32_t sum = start;
    for (std::size_t i = 0; i + 1 < bytes.size(); i += 2)
        sum += std::to_integer<std::uint32_t>(bytes[i]) << 8 | std::to_integer<std::uint32_t>(bytes[i + 1]);
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

}  // namespace

TEST_CASE("Endpoints are shown, unmapped and checked", "[inet]") {
    CHECK(end(AF_INET, "10.1.2.3", 80).text() == "10.1.2.3:80");
    CHECK(end(AF_INET6, "fe80::1", 80).text() == "[fe80::1]:80");
    CHECK(end(AF_INET6, "fe80::1", 80).needsScope());
    CHECK(end(AF_INET6, "ff02::1", 80).needsScope());
    CHECK_FALSE(end(AF_INET6, "2001:db8::1", 80).needsScope());
    CHECK(end(AF_INET6, "::ffff:1.2.3.4", 5).unmapped() == end(AF_INET, "1.2.3.4", 5));
    CHECK(end(AF_INET6, "::1", 5).unmapped() == end(AF_INET6, "::1", 5));
    CHECK(end(AF_INET, "0.0.0.0", 5).isAny());

    const std::uint32_t words[] = {htonl(0x7f000001), 1, 2, 3};
    CHECK(InetEndpoint::fromImage(AF_INET, std::span(words).first(1), 65535).text() == "127.0.0.1:65535");
    CHECK(InetEndpoint::fromImage(AF_INET, words, 1).text() == "127.0.0.1:1");  // format of very old images
    CHECK_THROWS_AS(InetEndpoint::fromImage(AF_INET6, std::span(words).first(1), 1), Error);
    CHECK_THROWS_AS(InetEndpoint::fromImage(AF_INET, {}, 1), Error);
    CHECK_THROWS_AS(InetEndpoint::fromImage(AF_INET, words, 65536), Error);
    CHECK_THROWS_AS(InetEndpoint::fromImage(AF_UNIX, words, 1), Error);
}

TEST_CASE("Endpoints survive the way through a sockaddr", "[inet]") {
    for (const InetEndpoint& one : {end(AF_INET, "10.1.2.3", 80), end(AF_INET6, "fe80::1", 81)}) {
        SocketAddress address{};
        const socklen_t length = one.store(address, 7);
        CHECK(length == (one.family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6)));
        CHECK(InetEndpoint::fromSocket(address) == one);
        if (one.family == AF_INET6)
            CHECK(address.v6.sin6_scope_id == 7);
    }
    SocketAddress other{};
    other.generic.sa_family = AF_UNIX;
    CHECK_THROWS_AS(InetEndpoint::fromSocket(other), Error);
}

TEST_CASE("The prefix of a mapping replaces the same bits of an address", "[inet]") {
    const auto replaced = [](const char* address, const char* from, const char* to, unsigned bits) {
        const InetEndpoint source = end(AF_INET6, from, 0);
        model::InetMapping mapping;
        mapping.family = AF_INET6;
        mapping.bits = bits;
        std::ranges::copy(source.words, std::begin(mapping.from));
        std::ranges::copy(end(AF_INET6, to, 0).words, std::begin(mapping.to));
        InetEndpoint changed = end(AF_INET6, address, 80);
        return changed.replaceAddress({&mapping, 1}) != nullptr ? changed.text() : std::string("not replaced");
    };
    CHECK(replaced("2001:db8:1:2::3", "2001:db8:1::", "2001:db8:9::", 48) == "[2001:db8:9:2::3]:80");
    CHECK(replaced("2001:db8:1:2::3", "2001:db8:2::", "2001:db8:9::", 48) == "not replaced");
    CHECK(replaced("2001:db8:1:2::3", "2001::", "fd00::", 16) == "[fd00:db8:1:2::3]:80");
    CHECK(replaced("2001:db8::3", "2001:db8::3", "fd00::5", 128) == "[fd00::5]:80");
    CHECK(replaced("2001:db8::4", "2001:db8::3", "fd00::5", 128) == "not replaced");
}

TEST_CASE("iptables rules that lock are found again among others", "[inet]") {
    const InetConnection one = connection("10.0.0.1", 80, "10.0.0.2", 4000);
    const InetConnection two = connection("10.0.0.1", 80, "10.0.0.3", 4001);
    const InetConnection all[] = {one, two};
    const std::string lines = iptablesInsertions(all, AF_INET);
    CHECK(lines.starts_with("*filter\n-I INPUT -s 10.0.0.2 -d 10.0.0.1 -p tcp"));
    CHECK(lines.ends_with("COMMIT\n"));
    CHECK(std::count(lines.begin(), lines.end(), '\n') == 6);
    CHECK(iptablesInsertions(all, AF_INET6).empty());

    const std::string ours =
        " INPUT -s 10.0.0.2/32 -d 10.0.0.1/32 -p tcp -m mark ! --mark 0xc114 -m tcp --sport 4000 --dport 80 -j DROP\n";
    const std::string foreign =
        "-A INPUT -s 10.0.0.9/32 -d 10.0.0.1/32 -p tcp -m mark ! --mark 0xc114 -m tcp --sport 1 --dport 80 -j DROP\n";
    const std::string accepts =
        "-A INPUT -s 10.0.0.2/32 -d 10.0.0.1/32 -p tcp -m mark ! --mark 0xc114 -m tcp --sport 4000 --dport 80 -j "
        "ACCEPT\n";
    const std::string unmarked =
        "-A INPUT -s 10.0.0.2/32 -d 10.0.0.1/32 -p tcp -m tcp --sport 4000 --dport 80 -j DROP\n";
    const std::string saved =
        "# a comment\n*filter\n:INPUT ACCEPT [0:0]\n-A" + ours + foreign + accepts + unmarked + "COMMIT\n";
    CHECK(iptablesDeletions({&one, 1}, AF_INET, saved) == "*filter\n-D" + ours + "COMMIT\n");
    CHECK(iptablesDeletions({&two, 1}, AF_INET, saved).empty());
    CHECK(iptablesDeletions({&one, 1}, AF_INET, "").empty());
    CHECK(iptablesDeletions({&one, 1}, AF_INET, "-A INPUT -s\n-A\n-d x --sport y").empty());

    const std::string out =
        " OUTPUT -s 10.0.0.1/32 -d 10.0.0.2/32 -p tcp -m mark ! --mark 0xc114 -m tcp --sport 80 --dport 4000 -j DROP\n";
    CHECK_FALSE(iptablesHave({&one, 1}, AF_INET, saved));  // only one direction
    const std::string both = "*filter\n-A" + ours + "-A" + out + "COMMIT\n";
    CHECK(iptablesHave({&one, 1}, AF_INET, both));
    const InetConnection other = {one.remote, one.local};
    CHECK_FALSE(iptablesHave({&other, 1}, AF_INET, "-A" + ours));
    CHECK_FALSE(iptablesHave(all, AF_INET, both));
}

TEST_CASE("The numbers of lock methods", "[inet]") {
    using Method = model::NetworkLock;
    for (const Method method : {Method::Iptables, Method::Nftables, Method::Skip})
        CHECK(networkLockMethod(networkLockNumber(method)) == method);
    CHECK(networkLockNumber(Method::Nftables) == 1);
    CHECK_THROWS_AS(networkLockMethod(3), Error);
}

TEST_CASE("Groups are read from /proc/net/igmp and igmp6", "[inet]") {
    const auto four = parseIgmp(
        "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n"
        "1\tlo        :     1      V3\n"
        "\t\t\t\t010000E0     1 0:00000000\t\t0\n"
        "2\teth0      :     2      V3\n"
        "\t\t\t\t030201EF     1 0:00000000\t\t0\n"
        "\t\t\t\tbroken\n");
    REQUIRE(four.size() == 2);
    CHECK(four[0].interface == "lo");
    CHECK(four[0].group.address() == "224.0.0.1");
    CHECK(four[1].interface == "eth0");
    CHECK(four[1].group.address() == "239.1.2.3");
    const auto six = parseIgmp6(
        "1    lo              ff020000000000000000000000000001     1 0000000C 0\n"
        "2    eth0            ff15000000000000000000000000abcd     2 00000004 0\n"
        "3    x               ff15\n");
    REQUIRE(six.size() == 2);
    CHECK(six[1].interface == "eth0");
    CHECK(six[1].group.address() == "ff15::abcd");
    CHECK(parseIgmp("").empty());
    CHECK(parseIgmp6("").empty());
}

TEST_CASE("Forged segments have right checksums", "[inet]") {
    TcpSegment segment{end(AF_INET, "10.0.0.2", 4000), end(AF_INET, "10.0.0.1", 80), 0x01020304, 0x0a0b0c0d, 77};
    segment.fin = true;
    const std::vector<std::byte> packet = encodeSegment(segment);
    REQUIRE(packet.size() == 40);
    const std::span<const std::byte> ip = std::span(packet).first(20);
    const std::span<const std::byte> tcp = std::span(packet).subspan(20);
    CHECK(checksum(ip, 0) == 0xffff);
    CHECK(checksum(tcp, checksum(ip.subspan(12, 8), 20 + IPPROTO_TCP)) == 0xffff);
    CHECK(std::to_integer<int>(tcp[13]) == 0x11);  // ACK and FIN

    segment = {end(AF_INET6, "fe80::2", 4000), end(AF_INET6, "fe80::1", 80), 1, 2, 3};
    segment.reset = true;
    const std::vector<std::byte> six = encodeSegment(segment);
    REQUIRE(six.size() == 60);
    CHECK(std::to_integer<int>(six[0]) == 0x60);
    CHECK(checksum(std::span(six).subspan(40), checksum(std::span(six).subspan(8, 32), 20 + IPPROTO_TCP)) == 0xffff);
    CHECK(std::to_integer<int>(six[53]) == 0x14);  // ACK and RST
}

TEST_CASE("Answers about sockets of other families", "[inet]") {
    inet_diag_msg inet{};
    inet.idiag_inode = 12;
    inet.idiag_state = 1;
    inet.idiag_rqueue = 5;
    inet.id.idiag_dport = htons(99);
    const std::byte shutdown[] = {std::byte{2}};
    const auto socket = kernel::parseInetSocket(answer(inet, INET_DIAG_SHUTDOWN, shutdown));
    CHECK(socket.inode == 12);
    CHECK(socket.destinationPort == 99);
    CHECK(socket.receiveQueue == 5);
    CHECK(socket.shutdown == 2);
    CHECK(kernel::parseInetSocket(answer(inet, INET_DIAG_SHUTDOWN, {})).shutdown == 0);
    CHECK_FALSE(socket.options.tos.has_value());
    CHECK_FALSE(socket.options.flags.has_value());

    const std::byte tos[] = {std::byte{0x10}};
    CHECK(kernel::parseInetSocket(answer(inet, INET_DIAG_TOS, tos)).options.tos == 0x10);
    const int mark = 77;
    CHECK(kernel::parseInetSocket(answer(inet, INET_DIAG_MARK, std::as_bytes(std::span(&mark, 1)))).options.mark == 77);
    const int memory[] = {1, 2000, 3, 4000, 5, 6, 7, 8, 9};
    const auto buffers = kernel::parseInetSocket(answer(inet, INET_DIAG_SKMEMINFO, std::as_bytes(std::span(memory))));
    CHECK(buffers.options.receiveBuffer == 2000);
    CHECK(buffers.options.sendBuffer == 4000);
    const auto few = std::as_bytes(std::span(memory).first(2));
    CHECK_FALSE(kernel::parseInetSocket(answer(inet, INET_DIAG_SKMEMINFO, few)).options.sendBuffer.has_value());
    inet_diag_sockopt bits{};
    bits.freebind = 1;
    bits.recverr_rfc4884 = 1;
    const auto flags =
        kernel::parseInetSocket(answer(inet, INET_DIAG_SOCKOPT, std::as_bytes(std::span(&bits, 1)))).options.flags;
    REQUIRE(flags.has_value());
    CHECK(flags->freeBind);
    CHECK(flags->receiveErrorsRfc4884);
    CHECK_FALSE(flags->transparent);
    CHECK_FALSE(flags->receiveErrors);
    CHECK_FALSE(flags->bindAddressNoPort);
    CHECK_THROWS_AS(kernel::parseInetSocket({}), Error);

    netlink_diag_msg netlink{};
    netlink.ndiag_ino = 4;
    netlink.ndiag_dst_group = 3;
    CHECK(kernel::parseNetlinkSocket(std::as_bytes(std::span(&netlink, 1))).destinationGroup == 3);
    CHECK_THROWS_AS(kernel::parseNetlinkSocket({}), Error);

    packet_diag_msg packet{};
    packet.pdiag_ino = 6;
    const packet_diag_ring ring{4096, 2, 1024, 8, 0, 0, 0};
    const auto captured =
        kernel::parsePacketSocket(answer(packet, PACKET_DIAG_RX_RING, std::as_bytes(std::span(&ring, 1))));
    CHECK(captured.inode == 6);
    REQUIRE(captured.receiveRing);
    CHECK(captured.receiveRing->pdr_frame_nr == 8);
    CHECK_FALSE(captured.sendRing);
    CHECK_THROWS_AS(kernel::parsePacketSocket(answer(packet, PACKET_DIAG_TX_RING, {})), Error);
}
