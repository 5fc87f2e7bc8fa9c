// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it finds the socket of a mapping only among the process' own descriptors
#include <linux/if_packet.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "packet_sockets.hpp"
#include "zdtm.hpp"

namespace {
// No other program of the host uses these protocols.
constexpr std::uint16_t kOfChild = 0x9a01;
constexpr std::uint16_t kOfParent = 0x9a02;

void check_arrives(std::span<std::byte> ring, std::uint16_t protocol) {
    const int sender = SYS(socket(AF_PACKET, SOCK_DGRAM, 0));
    const sockaddr_ll to = zdtm::on_loopback(protocol);
    SYS(sendto(sender, "into the ring", 14, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to));
    zdtm::check_arrives(ring);
}
}  // namespace

ZDTM("one process maps rings of packet sockets, and another one has the descriptors") {
    const int of_child = zdtm::packet_ring(kOfChild, 1);
    const int of_parent = zdtm::packet_ring(kOfParent, 1);
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
