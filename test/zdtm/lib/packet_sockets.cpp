// SPDX-License-Identifier: GPL-2.0-only
#include "packet_sockets.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include "inet_sockets.hpp"
#include "patience.hpp"
#include "zdtm.hpp"

namespace zdtm {

sockaddr_ll on_loopback(std::uint16_t protocol) {
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(protocol);
    address.sll_ifindex = static_cast<int>(if_nametoindex("lo"));
    address.sll_halen = ETH_ALEN;
    return address;
}

int packet_ring(std::uint16_t protocol, unsigned blocks) {
    const int fd = socket(AF_PACKET, SOCK_RAW, 0);
    if (fd < 0) {
        skip("packet socket: %s", strerror(errno));
    }
    set_option(fd, SOL_PACKET, PACKET_VERSION, TPACKET_V2);
    tpacket_req ring{};
    ring.tp_block_size = static_cast<unsigned>(page_size());
    ring.tp_block_nr = blocks;
    ring.tp_frame_size = 2048;
    ring.tp_frame_nr = blocks * ring.tp_block_size / ring.tp_frame_size;
    SYS(setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring));
    const sockaddr_ll address = on_loopback(protocol);
    SYS(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address));
    return fd;
}

void check_arrives(std::span<std::byte> ring) {
    const auto* const frame = reinterpret_cast<const volatile tpacket2_hdr*>(ring.data());
    for (int tries = 0; (frame->tp_status & TP_STATUS_USER) == 0; ++tries) {
        CHECK(tries < kPatience, "nothing arrives in the ring");
        usleep(1000);
    }
    CHECK(memcmp(ring.data() + frame->tp_net, "into the ring", 14) == 0, "something else arrived");
}

}  // namespace zdtm
