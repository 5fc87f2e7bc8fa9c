// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>

#include "criu/image/arena.hpp"
#include "criu/kernel/fsuid_scope.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/tree_pids.hpp"
#include "images/sk-unix.fwd.hpp"

/// Peer credentials of Unix sockets (SO_PEERCRED, unix(7)). The kernel records them in socketpair(2), in connect(2) for
/// the accepted socket, and in listen(2) for the listener and its clients. Servers use peer credentials for access
/// control.
namespace criu::sockets {

/// Stores the peer credentials of a socket, with ids of criu's user namespace.
void readPeer(int fd, UnixSkEntry& entry, Arena& arena);

/// Translates the peer's pid, uid and gids in the entry from criu's namespaces to the tree's namespaces.
void translatePeer(UnixSkEntry& entry, const model::IdMap& ids, const model::TreePids& pids);

/// Returns the peer credentials; nothing if the image has none, because CRIU 4.2 has written it. For a socket without a
/// peer, returns the overflow ids, because the kernel may record arbitrary credentials for the restored socket.
[[nodiscard]] std::optional<kernel::Identity> peerOf(const UnixSkEntry& entry);

/// Sets the owner (uid and gid) of the socket's inode.
void restoreOwner(int fd, const UnixSkEntry& entry);

/// Returns the credentials with which the restore calls connect(2) for a connection that isn't accepted yet. They are
/// the credentials of the socket's owner, because the kernel doesn't show which process called connect(2).
[[nodiscard]] std::optional<kernel::Identity> callerOf(const UnixSkEntry& entry);

}  // namespace criu::sockets
