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

/// Origin of the serving process.
enum class Origin {
    Client,  ///< swrk: the client executed criu, which inherited its descriptors
    Daemon,  ///< the service, for all processes that may connect to its socket
};

/// The other end of a connection as the kernel describes it (SO_PEERCRED): the process that connected or created the
/// pair of sockets. Another process may hold the socket now.
struct Peer {
    pid_t pid = 0;  ///< 0: its pid namespace isn't visible from here
    Origin origin{};
    /// The process that connected, even after reuse of its pid. Null if it has ended or isn't visible from here.
    std::shared_ptr<const kernel::PidFd> process;
    /// Client of the connection. It is the owner of criu if it executed criu, or if it is root in criu's user
    /// namespace with all of criu's capabilities. Its directories aren't open yet.
    model::Client client;

    /// Returns a copy of the client's descriptor. Throws Error.
    [[nodiscard]] UniqueFd copyOf(int fd) const;
};

/// Returns the peer of a socket. Throws Error (EPERM) for a client in another user namespace, because its ids and
/// capabilities have another meaning here.
[[nodiscard]] Peer peerOf(int socket, Origin origin);

/// Opens a directory by the client's descriptor. A client other than the owner must have it open for reading. If
/// `written` is set, the client must be allowed to write there itself; criu's rights don't count. Throws Error.
[[nodiscard]] UniqueFd openClientsDirectory(const Peer& peer, int fd, bool written);

}  // namespace criu::service
