// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/packet_open.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "criu/base/error.hpp"
#include "criu/image/record.hpp"
#include "criu/sockets/socket_options.hpp"

namespace criu::sockets {
namespace {

constexpr std::size_t kLongestAddress = 32;

void setOption(int socket, int option, const void* value, socklen_t size, const char* name) {
    sys(::setsockopt(socket, SOL_PACKET, option, value, size), "set {} of a packet socket", name);
}

void setNumber(int socket, int option, std::uint32_t value, const char* name) {
    if (value != 0)
        setOption(socket, option, &value, sizeof(value), name);
}

void setRing(int socket, int option, const PacketRing* ring, const char* name) {
    if (ring == nullptr)
        return;
    tpacket_req3 request{};
    request.tp_block_size = ring->block_size;
    request.tp_block_nr = ring->block_nr;
    request.tp_frame_size = ring->frame_size;
    request.tp_frame_nr = ring->frame_nr;
    request.tp_retire_blk_tov = ring->retire_tmo;
    request.tp_sizeof_priv = ring->sizeof_priv;
    request.tp_feature_req_word = ring->features;
    setOption(socket, option, &request, sizeof(request), name);
}

}  // namespace

std::string RestoredPacket::describe() const {
    return fmt::format("packet socket of protocol {:#x}", ntohs(static_cast<std::uint16_t>(entry_.protocol)));
}

void RestoredPacket::open(files::FileOpener& opener) {
    const bool old = entry_.type == SOCK_PACKET;
    // Creates the socket without a protocol, so that no packet arrives before all options are set. A SOCK_PACKET socket
    // needs the protocol here, because bind(2) can't set it later.
    UniqueFd socket(sys(
        ::socket(AF_PACKET, static_cast<int>(entry_.type) | SOCK_CLOEXEC, old ? static_cast<int>(entry_.protocol) : 0),
        "create a packet socket"));
    if (old) {
        bindByName(socket.get());
    } else {
        setUp(socket.get());
        bind(socket.get());
        join(socket.get());
        if (entry_.has_fanout != 0)
            setOption(socket.get(), PACKET_FANOUT, &entry_.fanout, sizeof(entry_.fanout), "PACKET_FANOUT");
    }
    restoreSocketOptions(socket.get(), *entry_.opts, opener.log(), opener.usernsd());
    sys(::fcntl(socket.get(), F_SETFL, static_cast<int>(entry_.flags)), "set flags {:#o} of a packet socket",
        entry_.flags);
    opener.provide(FileId{entry_.id}, std::move(socket));
}

void RestoredPacket::setUp(int socket) const {
    const int version = static_cast<int>(entry_.version);
    setOption(socket, PACKET_VERSION, &version, sizeof(version), "PACKET_VERSION");
    setNumber(socket, PACKET_RESERVE, entry_.reserve, "PACKET_RESERVE");
    setNumber(socket, PACKET_TIMESTAMP, entry_.timestamp, "PACKET_TIMESTAMP");
    setNumber(socket, PACKET_COPY_THRESH, entry_.copy_thresh, "PACKET_COPY_THRESH");
    setNumber(socket, PACKET_AUXDATA, entry_.aux_data, "PACKET_AUXDATA");
    setNumber(socket, PACKET_ORIGDEV, entry_.orig_dev, "PACKET_ORIGDEV");
    setNumber(socket, PACKET_VNET_HDR, entry_.vnet_hdr, "PACKET_VNET_HDR");
    setNumber(socket, PACKET_LOSS, entry_.loss, "PACKET_LOSS");
    for (const SkMoreOpt* const more : list(entry_.more, entry_.n_more)) {
        const int name = static_cast<int>(more->name);
        if (more->level == SOL_PACKET && std::find(std::begin(kMorePacketOptions), std::end(kMorePacketOptions),
                                                   name) != std::end(kMorePacketOptions))
            setOption(socket, name, more->value.data, static_cast<socklen_t>(more->value.len), "an option");
    }
    setRing(socket, PACKET_RX_RING, entry_.rx_ring, "PACKET_RX_RING");
    setRing(socket, PACKET_TX_RING, entry_.tx_ring, "PACKET_TX_RING");
}

void RestoredPacket::join(int socket) const {
    struct {
        packet_mreq head;
        std::uint8_t more[kLongestAddress - sizeof(packet_mreq::mr_address)];
    } request{};
    for (const PacketMclist* const member : list(entry_.mclist, entry_.n_mclist)) {
        if (member->addr.len > kLongestAddress)
            fail("a membership has an address of {} bytes", member->addr.len);
        request = {};
        request.head.mr_ifindex = static_cast<int>(member->index);
        request.head.mr_type = static_cast<unsigned short>(member->type);
        request.head.mr_alen = static_cast<unsigned short>(member->addr.len);
        if (member->addr.len != 0)
            std::memcpy(reinterpret_cast<std::byte*>(&request) + offsetof(packet_mreq, mr_address), member->addr.data,
                        member->addr.len);
        setOption(socket, PACKET_ADD_MEMBERSHIP, &request, sizeof(request), "PACKET_ADD_MEMBERSHIP");
    }
}

void RestoredPacket::bind(int socket) const {
    if (entry_.protocol == 0 && entry_.ifindex == 0)
        return;
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = static_cast<std::uint16_t>(entry_.protocol);
    address.sll_ifindex = static_cast<int>(entry_.ifindex);
    sys(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
        "bind a packet socket to device {}", entry_.ifindex);
}

void RestoredPacket::bindByName(int socket) const {
    if (entry_.ifindex == 0)
        return;
    char name[IFNAMSIZ] = {};
    if (::if_indextoname(entry_.ifindex, name) == nullptr)
        failErrno("find network device {}", entry_.ifindex);
    sockaddr address{};
    address.sa_family = AF_PACKET;
    std::memcpy(address.sa_data, name, ::strnlen(name, sizeof(address.sa_data) - 1));
    sys(::bind(socket, &address, sizeof(address)), "bind a packet socket to device {}", name);
}

}  // namespace criu::sockets
