// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::sockets {

/// Packet sockets (packet(7)), with rings, memberships and fanout groups. Packets in their queues are dropped.
std::unique_ptr<files::FileKindDump> makePacketDump();
std::unique_ptr<files::FileKindRestore> makePacketRestore();

}  // namespace criu::sockets
