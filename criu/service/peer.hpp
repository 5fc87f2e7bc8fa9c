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

/// Who has started the process that serves.
enum class Origin {
    Client,  ///< swrk: the client has executed criu, and passed on what it had opened
    Daemon,  ///< the service, for anybody who may connect to its socket
};

/// The other end of a connection, as the kernel describes it (SO_PEERCRED and its like): who connected or made the pair
/// of sockets, whoever has the socket now.
struct Peer {
    pid_t pid = 0;  ///< 0: it is in no pid namespace that is seen from here
    Origin origin{};
    /// It itself, whoever has the number later; null if it has ended already, or has no number here.
    std::shared_ptr<const kernel::PidFd> process;
    /// A client that has all of criu's rights is its owner: whoever executed criu, and root in the user namespace of
    /// criu with all of criu's capabilities. Directories are yet to be opened.
    model::Client client;

    /// A copy of what the client has open under a number. Throws Error.
    [[nodiscard]] UniqueFd copyOf(int fd) const;
};

/// Throws Error (EPERM) for clients that nothing can be done for: in other user namespaces ids and capabilities mean
/// something else than here.
[[nodiscard]] Peer peerOf(int socket, Origin origin);

/// Opens a directory that a client has open. One that isn't criu's owner must have it open for reading, and if
/// `written` be allowed to write there itself: criu's own rights are not what it is opened with. Throws Error.
[[nodiscard]] UniqueFd openClientsDirectory(const Peer& peer, int fd, bool written);

}  // namespace criu::service
