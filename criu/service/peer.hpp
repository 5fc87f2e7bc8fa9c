// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <memory>

#include "criu/base/unique_fd.hpp"
#include "criu/model/client.hpp"

namespace criu::kernel {
class PidFd;
}

namespace criu::service {

/// Reason why this process serves a client.
enum class Origin {
    Client,  ///< the client executed `criu swrk`, which inherited the client's descriptors
    Daemon,  ///< the client connected to the socket of the service
};

/// Other end of a connection, as the kernel describes it (SO_PEERCRED). The kernel reports the process that connected
/// or created the socket pair. Another process may have the socket now.
struct Peer {
    pid_t pid = 0;  ///< pid of the process; 0 if criu can't see its pid namespace
    Origin origin{};
    /// Process that connected; it stays correct if the kernel reuses the pid. nullptr if the process has ended, or if
    /// criu can't see it.
    std::shared_ptr<const kernel::PidFd> process;
    /// Client of the connection. It is the owner of criu if it executed criu, or if it is root in criu's user namespace
    /// with all of criu's capabilities. Its directories aren't open yet.
    model::Client client;

    /// Returns a copy of a descriptor of the client. Throws Error.
    [[nodiscard]] UniqueFd copyOf(int fd) const;
};

/// Returns the peer of a socket. Throws Error (EPERM) for a client in another user namespace, because its ids and
/// capabilities have another meaning in criu's namespace.
[[nodiscard]] Peer peerOf(int socket, Origin origin);

/// Opens a directory by a descriptor of the client. A client other than the owner must have it open for reading. If
/// `written` is true, the client itself must have write permission; criu's privileges don't count. Throws Error.
[[nodiscard]] UniqueFd openClientsDirectory(const Peer& peer, int fd, bool written);

}  // namespace criu::service
