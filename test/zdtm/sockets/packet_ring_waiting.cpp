// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,leave-running
// zdtm: warns Packets that wait in .* are dropped.*loss: packets
// zdtm: fails-with-4.2 it says nothing
// zdtm: not-in all-killed, dump-killed
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/mman.h>

#include "inet_sockets.hpp"
#include "packet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a dump warns of a packet in the ring of a packet socket that the program has not read") {
    constexpr std::uint16_t kProtocol = 0x88b7;
    constexpr unsigned kBlocks = 4;
    const int fd = zdtm::packet_ring(kProtocol, kBlocks);
    const std::span<std::byte> ring = zdtm::map(kBlocks * zdtm::page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    const int other = SYS(socket(AF_PACKET, SOCK_DGRAM, 0));
    sockaddr_ll to = zdtm::on_loopback(kProtocol);
    to.sll_halen = ETH_ALEN;
    SYS(sendto(other, "into the ring", 14, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to));
    zdtm::check_arrives(ring);
    me.wait_for_check();
}
