// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"
#include "criu/sockets/inet_endpoint.hpp"
#include "criu/sockets/owner_program.hpp"

namespace criu::files {
class PathRemaps;
}

/// Fd kinds of sockets. The source of each kind is NAME_kind.cpp.
namespace criu::sockets {

class ExternalSocketDump;
class ExternalSocketRestore;
class NetworkLock;

/// Fd kind of IPv4 and IPv6 sockets: TCP, UDP, UDP-Lite, raw and ping. `lock`: drops packets of TCP connections while
/// criu dumps or restores them. `program`: runs code in processes of the tree.
std::unique_ptr<files::FileKindDump> makeInetDump(NetworkLock& lock, OwnerProgram program);
/// Restore half of IPv4 and IPv6 sockets. `update`: function that may replace addresses after --inet-map has.
std::unique_ptr<files::FileKindRestore> makeInetRestore(NetworkLock& lock, AddressUpdate update);

/// Fd kind of Unix sockets. Images contain their names, connections, queues and descriptors in flight.
std::unique_ptr<files::FileKindDump> makeUnixDump(ExternalSocketDump& externalSockets);
std::unique_ptr<files::FileKindRestore> makeUnixRestore(const ExternalSocketRestore& externalSockets,
                                                        const files::PathRemaps& remaps);

/// Fd kind of netlink sockets (netlink(7)). Images contain port, groups, peer and options. Refuses a socket with
/// messages in its queue.
std::unique_ptr<files::FileKindDump> makeNetlinkDump();
std::unique_ptr<files::FileKindRestore> makeNetlinkRestore();

/// Fd kind of packet sockets (packet(7)). Images contain rings, memberships and fanout groups. A restored socket has an
/// empty queue.
std::unique_ptr<files::FileKindDump> makePacketDump();
std::unique_ptr<files::FileKindRestore> makePacketRestore();

/// Fd kind of vsock(7) sockets, which connect virtual machines with their host. Refuses connections, because the other
/// end is on another machine.
std::unique_ptr<files::FileKindDump> makeVsockDump();
std::unique_ptr<files::FileKindRestore> makeVsockRestore();

/// Fd kind that refuses all sockets that no other kind claims. It must come after all other socket kinds in the list of
/// fd kinds.
std::unique_ptr<files::FileKindDump> makeOtherSocketDump();

}  // namespace criu::sockets
