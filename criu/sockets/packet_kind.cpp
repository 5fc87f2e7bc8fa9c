// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/socket_kinds.hpp"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <sys/socket.h>

#include <map>
#include <set>

#include "criu/base/error.hpp"
#include "criu/base/loss.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/kernel/net/packet_diag.hpp"
#include "criu/sockets/packet_open.hpp"
#include "criu/sockets/socket_options.hpp"
#include "images/fdinfo.hpp"

namespace criu::sockets {
namespace {

PacketRing* ringOf(const std::optional<packet_diag_ring>& ring, Arena& arena) {
    if (!ring)
        return nullptr;
    auto& out = *arena.make<PacketRing>();
    out.block_size = ring->pdr_block_size;
    out.block_nr = ring->pdr_block_nr;
    out.frame_size = ring->pdr_frame_size;
    out.frame_nr = ring->pdr_frame_nr;
    out.retire_tmo = ring->pdr_retire_tmo;
    out.sizeof_priv = ring->pdr_sizeof_priv;
    out.features = ring->pdr_features;
    return &out;
}

std::optional<std::uint32_t> number(int fd, int option) {
    std::uint32_t value = 0;
    socklen_t size = sizeof(value);
    if (::getsockopt(fd, SOL_PACKET, option, &value, &size) != 0)
        return std::nullopt;
    return value;
}

void addMemberships(const kernel::PacketSocketInfo& info, PacketSockEntry& out, Arena& arena) {
    std::vector<PacketMclist*> all;
    for (const packet_diag_mclist& member : info.memberships)
        for (std::uint32_t times = 0; times < member.pdmc_count; ++times) {
            auto& entry = *arena.make<PacketMclist>();
            entry.index = member.pdmc_index;
            entry.type = member.pdmc_type;
            const std::size_t length = std::min<std::size_t>(member.pdmc_alen, sizeof(member.pdmc_addr));
            if (member.pdmc_type == PACKET_MR_MULTICAST || member.pdmc_type == PACKET_MR_UNICAST)
                entry.addr = arena.bytes(std::as_bytes(std::span(member.pdmc_addr)).first(length));
            all.push_back(&entry);
        }
    out.n_mclist = all.size();
    out.mclist = arena.copy(std::span<PacketMclist* const>(all));
}

void addFanout(const files::OpenFd& file, PacketSockEntry& out) {
    const std::uint32_t fanout = number(file.copy.get(), PACKET_FANOUT).value_or(0);
    if (fanout == 0)
        return;  // 0 means no fanout group (or group 0 of type 0, but no program uses this group)
    const std::uint32_t type = fanout >> 16 & 0xff;
    if (type == PACKET_FANOUT_CBPF || type == PACKET_FANOUT_EBPF)
        fail("{} is in a fanout group with a BPF program, which can't be read out", file.describe());
    out.has_fanout = 1;
    out.fanout = fanout;
}

class PacketKindDump final : public files::FileKindDump {
public:
    [[nodiscard]] bool claims(const files::OpenFd& file) const override { return file.socketFamily == AF_PACKET; }

    void dump(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump) override {
        const kernel::PacketSocketInfo* const info = find(file);
        if (info == nullptr)
            fail("{} isn't among the packet sockets the kernel lists", file.describe());
        Arena& arena = dump.arena();
        auto& out = *arena.make<PacketSockEntry>();
        entry.psk = &out;
        out.id = entry.id;
        out.type = static_cast<std::uint32_t>(info->type);
        out.protocol = htons(info->protocol);
        out.flags = file.statusFlags();
        out.ifindex = info->info.pdi_index;
        out.fown = dump.owner(file);
        out.opts = dumpSocketOptions(file.copy.get(), AF_PACKET, arena);
        out.version = info->info.pdi_version;
        out.reserve = info->info.pdi_reserve;
        out.aux_data = (info->info.pdi_flags & PDI_AUXDATA) != 0;
        out.orig_dev = (info->info.pdi_flags & PDI_ORIGDEV) != 0;
        out.vnet_hdr = (info->info.pdi_flags & PDI_VNETHDR) != 0;
        out.loss = (info->info.pdi_flags & PDI_LOSS) != 0;
        out.timestamp = info->info.pdi_tstamp;
        out.copy_thresh = info->info.pdi_copy_thresh;
        out.has_ns_id = 1;
        out.ns_id = file.network;
        out.rx_ring = ringOf(info->receiveRing, arena);
        out.tx_ring = ringOf(info->sendRing, arena);
        addMemberships(*info, out, arena);
        addFanout(file, out);
        pollfd ask{file.copy.get(), POLLIN, 0};
        sys(::poll(&ask, 1, 0), "poll a packet socket");
        // With a ring, POLLIN means that the program hasn't read the newest frame. The kernel begins with the first
        // frame of a new ring, so that the program misses frames that wait elsewhere (packet_poll(), Linux 6.18).
        if ((ask.revents & POLLIN) != 0)
            dump.log().loss(Loss::Packets, "Packets that wait in {} are dropped", file.describe());
        addMore(file.copy.get(), out, arena);
    }

private:
    static void addMore(int fd, PacketSockEntry& out, Arena& arena) {
        out.more = arena.array<SkMoreOpt*>(std::size(kMorePacketOptions));
        for (const int option : kMorePacketOptions) {
            const std::uint32_t value = number(fd, option).value_or(0);
            if (value == 0)
                continue;
            auto& more = *arena.make<SkMoreOpt>();
            more.level = SOL_PACKET;
            more.name = static_cast<std::uint32_t>(option);
            more.value = arena.bytes(std::as_bytes(std::span(&value, 1)));
            out.more[out.n_more++] = &more;
        }
    }

    const kernel::PacketSocketInfo* find(const files::OpenFd& file) {
        if (read_.insert(file.network).second)
            for (kernel::PacketSocketInfo& info : kernel::readPacketSockets())
                all_.emplace(info.inode, std::move(info));
        const auto found = all_.find(static_cast<std::uint32_t>(file.stat.st_ino));
        return found == all_.end() ? nullptr : &found->second;
    }

    std::set<std::uint32_t> read_;  ///< ids of the network namespaces whose sockets are in `all_`
    std::map<std::uint32_t, kernel::PacketSocketInfo> all_;
};

class PacketKindRestore final : public files::FileKindRestore {
public:
    std::shared_ptr<files::RestoredFile> collect(const FileEntry& entry, files::FileRestore&) override {
        if (entry.psk == nullptr)
            fail("file {} is said to be a packet socket but has no description of one", entry.id);
        return std::make_shared<RestoredPacket>(*entry.psk);
    }
};

}  // namespace

std::unique_ptr<files::FileKindDump> makePacketDump() {
    return std::make_unique<PacketKindDump>();
}

std::unique_ptr<files::FileKindRestore> makePacketRestore() {
    return std::make_unique<PacketKindRestore>();
}

}  // namespace criu::sockets
