// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"
#include "criu/sockets/inet_endpoint.hpp"

namespace criu::files {
class PathRemaps;
}

/// Fd kinds of sockets. Each kind has a source of its own, NAME_kind.cpp.
namespace criu::sockets {

class ExternalSocketDump;
class ExternalSocketRestore;
class NetworkLock;

/// Sockets of IPv4 and IPv6: TCP, UDP, UDP-Lite, raw, ping. `lock` drops packets of TCP connections while they are
/// dumped or restored.
std::unique_ptr<files::FileKindDump> makeInetDump(NetworkLock& lock);
/// `update` may replace addresses after --inet-map.
std::unique_ptr<files::FileKindRestore> makeInetRestore(NetworkLock& lock, AddressUpdate update);

/// Unix sockets of all types, with names, connections, queues and descriptors in flight.
std::unique_ptr<files::FileKindDump> makeUnixDump(ExternalSocketDump& externalSockets);
std::unique_ptr<files::FileKindRestore> makeUnixRestore(const ExternalSocketRestore& externalSockets,
                                                        const files::PathRemaps& remaps);

/// Netlink sockets (netlink(7)): port, groups, peer and options. A socket with messages in its queue can't be dumped.
std::unique_ptr<files::FileKindDump> makeNetlinkDump();
std::unique_ptr<files::FileKindRestore> makeNetlinkRestore();

/// Packet sockets (packet(7)), with rings, memberships and fanout groups. Packets in their queues are dropped.
std::unique_ptr<files::FileKindDump> makePacketDump();
std::unique_ptr<files::FileKindRestore> makePacketRestore();

/// Sockets between virtual machines and their host (vsock(7)) that listen or aren't connected. Connections are refused,
/// because the other machine has the other end.
std::unique_ptr<files::FileKindDump> makeVsockDump();
std::unique_ptr<files::FileKindRestore> makeVsockRestore();

/// Refuses sockets of all families that can't be dumped. Its position is after all other socket kinds.
std::unique_ptr<files::FileKindDump> makeOtherSocketDump();

}  // namespace criu::sockets
