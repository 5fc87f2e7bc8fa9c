// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>

#include "criu/image/arena.hpp"
#include "criu/kernel/fsuid_scope.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/tree_pids.hpp"
#include "images/sk-unix.fwd.hpp"

/// Who made the other end of a Unix socket (SO_PEERCRED, unix(7)). The kernel notes that when a pair is made, of a
/// connection when it is asked for (for the accepted socket), and of a listener when it begins to listen (for itself,
/// and for those that connect to it). Servers decide by it what a client may do.
namespace criu::sockets {

/// Stores what a socket says, with ids as criu has them.
void readPeer(int fd, UnixSkEntry& entry, Arena& arena);

/// Makes the ids and the pid those that the tree sees.
void translatePeer(UnixSkEntry& entry, const model::IdMap& ids, const model::TreePids& pids);

/// Nothing if the image doesn't say it, as those of CRIU 4.2. Where nobody made the other end, it is a user without a
/// name: a restored socket may have one all the same.
[[nodiscard]] std::optional<kernel::Identity> peerOf(const UnixSkEntry& entry);

/// Makes the socket its owner's, as the image has it.
void restoreOwner(int fd, const UnixSkEntry& entry);

/// Who has asked for a connection that waits to be accepted: of that nobody but the kernel knows. It is most likely the
/// owner of the socket.
[[nodiscard]] std::optional<kernel::Identity> callerOf(const UnixSkEntry& entry);

}  // namespace criu::sockets
