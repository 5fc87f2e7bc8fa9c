// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it leaves out some options
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

namespace {
constexpr unsigned kBlocks = 4;

int captures_loopback(std::uint16_t protocol) {
    const int fd = socket(AF_PACKET, SOCK_RAW, 0);
    if (fd < 0) {
        zdtm::skip("packet socket: %s", strerror(errno));
    }
    zdtm::set_option(fd, SOL_PACKET, PACKET_VERSION, TPACKET_V2);
    tpacket_req ring{};
    ring.tp_block_size = static_cast<unsigned>(zdtm::page_size());
    ring.tp_block_nr = kBlocks;
    ring.tp_frame_size = 2048;
    ring.tp_frame_nr = kBlocks * ring.tp_block_size / ring.tp_frame_size;
    SYS(setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring));
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(protocol);
    address.sll_ifindex = static_cast<int>(if_nametoindex("lo"));
    SYS(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address));
    return fd;
}
}  // namespace

ZDTM("a packet socket with a mapped ring, a fanout group and a membership; packets arrive in the ring") {
    // A protocol nobody else on the host uses.
    constexpr std::uint16_t kProtocol = 0x88b5;
    const int fd = captures_loopback(kProtocol);
    zdtm::set_option(fd, SOL_PACKET, PACKET_AUXDATA, 1);
    zdtm::set_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
    // Packets of a group go to one of its members: nobody else's test may be in it.
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
    const auto* const frame = reinterpret_cast<const volatile tpacket2_hdr*>(ring.data());
    for (int tries = 0; (frame->tp_status & TP_STATUS_USER) == 0; ++tries) {
        CHECK(tries < 5000, "nothing arrives in the ring");
        usleep(1000);
    }
    CHECK(memcmp(ring.data() + frame->tp_net, "into the ring", 14) == 0, "something else arrived");
}
