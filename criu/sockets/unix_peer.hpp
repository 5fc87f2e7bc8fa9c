// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>

#include "criu/image/arena.hpp"
#include "criu/kernel/fsuid_scope.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/tree_pids.hpp"
#include "images/sk-unix.fwd.hpp"

/// Peer credentials of Unix sockets (SO_PEERCRED, unix(7)). The kernel records them in socketpair(2), in connect(2) for
/// the accepted socket, and in listen(2) for the listener and its clients. Servers use them for access control.
namespace criu::sockets {

/// Stores the peer credentials of a socket, with ids of criu's user namespace.
void readPeer(int fd, UnixSkEntry& entry, Arena& arena);

/// Translates the ids and the pid to those of the tree.
void translatePeer(UnixSkEntry& entry, const model::IdMap& ids, const model::TreePids& pids);

/// Returns the peer credentials; nothing if the image has none (CRIU 4.2). Without a peer they are the overflow ids,
/// because the kernel may record a peer for the restored socket.
[[nodiscard]] std::optional<kernel::Identity> peerOf(const UnixSkEntry& entry);

/// Sets the owner of a socket.
void restoreOwner(int fd, const UnixSkEntry& entry);

/// Returns the credentials for a connect(2) that isn't accepted yet. The kernel doesn't show the caller, so the
/// socket's owner is taken.
[[nodiscard]] std::optional<kernel::Identity> callerOf(const UnixSkEntry& entry);

}  // namespace criu::sockets
