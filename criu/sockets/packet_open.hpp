// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "criu/files/file_opener.hpp"
#include "criu/files/restored_file.hpp"
#include "images/packet-sock.hpp"

namespace criu::sockets {

/// Options of level SOL_PACKET for which images have no separate field.
inline constexpr int kMorePacketOptions[] = {19, 20, 23, 24};  // PACKET_TX_HAS_OFF, _QDISC_BYPASS, _IGNORE_OUTGOING,
                                                               // _VNET_HDR_SZ

/// Restore half of one packet socket.
class RestoredPacket final : public files::RestoredFile {
public:
    explicit RestoredPacket(const PacketSockEntry& entry) : entry_(entry) {}

    [[nodiscard]] std::string describe() const override;
    void open(files::FileOpener& opener) override;
    [[nodiscard]] const FownEntry* owner(FileId) const override { return entry_.fown; }

private:
    void setUp(int socket) const;
    void join(int socket) const;
    void bind(int socket) const;
    void bindByName(int socket) const;

    const PacketSockEntry& entry_;
};

}  // namespace criu::sockets
