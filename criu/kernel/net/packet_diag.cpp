// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/net/packet_diag.hpp"

#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <cstring>

#include "criu/base/error.hpp"
#include "criu/kernel/net/netlink.hpp"

namespace criu::kernel {
namespace {

template <typename T>
T packetValueOf(std::span<const std::byte> bytes) {
    T value{};
    if (bytes.size() < sizeof(value))
        fail("the kernel's answer about a packet socket has only {} of {} bytes", bytes.size(), sizeof(value));
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
}

}  // namespace

PacketSocketInfo parsePacketSocket(std::span<const std::byte> answer) {
    const auto fixed = packetValueOf<packet_diag_msg>(answer);
    PacketSocketInfo socket;
    socket.inode = fixed.pdiag_ino;
    socket.type = fixed.pdiag_type;
    socket.protocol = fixed.pdiag_num;
    forEachAttribute(
        answer.subspan(NLMSG_ALIGN(sizeof(fixed))), [&socket](std::uint16_t type, std::span<const std::byte> value) {
            if (type == PACKET_DIAG_INFO)
                socket.info = packetValueOf<packet_diag_info>(value);
            if (type == PACKET_DIAG_RX_RING)
                socket.receiveRing = packetValueOf<packet_diag_ring>(value);
            if (type == PACKET_DIAG_TX_RING)
                socket.sendRing = packetValueOf<packet_diag_ring>(value);
            if (type == PACKET_DIAG_MCLIST)
                for (; value.size() >= sizeof(packet_diag_mclist); value = value.subspan(sizeof(packet_diag_mclist)))
                    socket.memberships.push_back(packetValueOf<packet_diag_mclist>(value));
        });
    return socket;
}

std::vector<PacketSocketInfo> readPacketSockets() {
    packet_diag_req request{};
    request.sdiag_family = AF_PACKET;
    request.pdiag_show = PACKET_SHOW_INFO | PACKET_SHOW_MCLIST | PACKET_SHOW_RING_CFG;
    NetlinkMessage message(SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, request);
    std::vector<PacketSocketInfo> sockets;
    const int error = NetlinkSocket(NETLINK_SOCK_DIAG)
                          .request(message, [&](const nlmsghdr& header, std::span<const std::byte> payload) {
                              if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY)
                                  sockets.push_back(parsePacketSocket(payload));
                          });
    if (error != 0)
        failWith(error, "ask the kernel about packet sockets");
    return sockets;
}

}  // namespace criu::kernel
