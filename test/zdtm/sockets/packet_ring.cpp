// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it leaves out some options
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "inet_sockets.hpp"
#include "packet_sockets.hpp"
#include "zdtm.hpp"

namespace {
constexpr unsigned kBlocks = 4;
}  // namespace

ZDTM("a packet socket with a mapped ring, a fanout group and a membership; the ring receives packets") {
    // No other program of the host uses this protocol.
    constexpr std::uint16_t kProtocol = 0x88b5;
    const int fd = zdtm::packet_ring(kProtocol, kBlocks);
    zdtm::set_option(fd, SOL_PACKET, PACKET_AUXDATA, 1);
    zdtm::set_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
    // Sends packets to one member of the group, so the group id is derived from the socket's inode number.
    struct stat status {};
    SYS(fstat(fd, &status));
    const int group = static_cast<int>(status.st_ino & 0xffff) | PACKET_FANOUT_CPU << 16 | 0x100;
    zdtm::set_option(fd, SOL_PACKET, PACKET_FANOUT, group);
    const std::span<std::byte> ring = zdtm::map(kBlocks * zdtm::page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    const int other = SYS(socket(AF_PACKET, SOCK_DGRAM, 0));
    packet_mreq member{};
    member.mr_ifindex = static_cast<int>(if_nametoindex("lo"));
    member.mr_type = PACKET_MR_PROMISC;
    SYS(setsockopt(other, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &member, sizeof member));
    me.wait_for_check();

    CHECK(zdtm::get_option(fd, SOL_PACKET, PACKET_VERSION) == TPACKET_V2, "another version");
    CHECK(zdtm::get_option(fd, SOL_PACKET, PACKET_AUXDATA) == 1, "PACKET_AUXDATA is lost");
    CHECK(zdtm::get_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING) == 1, "PACKET_IGNORE_OUTGOING is lost");
    CHECK(zdtm::get_option(fd, SOL_PACKET, PACKET_FANOUT) == group, "fanout group %#x instead of %#x",
          zdtm::get_option(fd, SOL_PACKET, PACKET_FANOUT), group);
    CHECK(setsockopt(other, SOL_PACKET, PACKET_DROP_MEMBERSHIP, &member, sizeof member) == 0, "no member: %s",
          strerror(errno));
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_protocol = htons(kProtocol);
    to.sll_ifindex = member.mr_ifindex;
    to.sll_halen = ETH_ALEN;
    SYS(sendto(other, "into the ring", 14, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to));
    zdtm::check_arrives(ring);
}
