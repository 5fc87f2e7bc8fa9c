// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it finds the socket of a mapping only among the process' own descriptors
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/mman.h>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

namespace {
// Protocols nobody else on the host uses.
constexpr std::uint16_t kOfChild = 0x88b5;
constexpr std::uint16_t kOfParent = 0x88b6;

sockaddr_ll on_loopback(std::uint16_t protocol) {
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(protocol);
    address.sll_ifindex = static_cast<int>(if_nametoindex("lo"));
    address.sll_halen = ETH_ALEN;
    return address;
}

int captures_loopback(std::uint16_t protocol) {
    const int fd = socket(AF_PACKET, SOCK_RAW, 0);
    if (fd < 0) {
        zdtm::skip("packet socket: %s", strerror(errno));
    }
    zdtm::set_option(fd, SOL_PACKET, PACKET_VERSION, TPACKET_V2);
    tpacket_req ring{};
    ring.tp_block_size = static_cast<unsigned>(zdtm::page_size());
    ring.tp_block_nr = 1;
    ring.tp_frame_size = 2048;
    ring.tp_frame_nr = ring.tp_block_size / ring.tp_frame_size;
    SYS(setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring));
    const sockaddr_ll address = on_loopback(protocol);
    SYS(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address));
    return fd;
}

void check_arrives(std::span<std::byte> ring, std::uint16_t protocol) {
    const int sender = SYS(socket(AF_PACKET, SOCK_DGRAM, 0));
    const sockaddr_ll to = on_loopback(protocol);
    SYS(sendto(sender, "into the ring", 14, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to));
    const auto* const frame = reinterpret_cast<const volatile tpacket2_hdr*>(ring.data());
    for (int tries = 0; (frame->tp_status & TP_STATUS_USER) == 0; ++tries) {
        CHECK(tries < 5000, "nothing arrives in the ring");
        usleep(1000);
    }
    CHECK(memcmp(ring.data() + frame->tp_net, "into the ring", 14) == 0, "something else arrived");
}
}  // namespace

ZDTM("rings of packet sockets, mapped by one process, of which only another has the descriptor") {
    const int of_child = captures_loopback(kOfChild);
    const int of_parent = captures_loopback(kOfParent);
    const auto map = [](int fd) {
        return zdtm::map(static_cast<std::size_t>(zdtm::page_size()), PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    };
    const std::span<std::byte> held_by_child = map(of_child);
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        const std::span<std::byte> held_by_parent = map(of_parent);
        SYS(close(of_parent));
        task.wait_for_check();
        check_arrives(held_by_parent, kOfParent);
    });
    SYS(close(of_child));
    me.wait_for_check();
    check_arrives(held_by_child, kOfChild);
    me.finish(child);
}
