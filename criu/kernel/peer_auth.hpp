// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>

/// Peer authentication between two criu processes that connect through an abstract socket. Any process of the network
/// namespace may bind its name or connect, and root of a container may have the same uid.
/// So each process proves that it can read a random secret in the memory of the other. The kernel allows this to
/// processes that may trace the other (ptrace(2)). A process that may trace criu may trace the tree anyway.
namespace criu::engine {

/// Random secret in the memory of one process.
using Proof = std::array<std::byte, 16>;

/// Listener's half for one connection. Each connection has its own object, so that none waits for another.
class PeerAuthentication {
public:
    /// Throws Error if the peer has another uid.
    explicit PeerAuthentication(int socket);

    /// Receives the peer's message. Returns true when the peer is authenticated. Throws Error if authentication
    /// failed or the peer has closed. The peer reads the memory of this object, so the object must not move.
    bool take();

private:
    int socket_;
    Proof proof_;
    bool greeted_ = false;
};

/// Makes the calling process the listener that the kernel reports to connecting peers (SO_PEERCRED). Throws Error.
void listenAsCurrentProcess(int listener, int backlog);

enum class PeerAuthResult {
    Believed,
    UnauthenticatedPeer,  ///< process of another user, or one that can't read this process' memory
    Gone,                 ///< the peer has closed the connection
};

/// Connecting half; the peer must have used listenAsCurrentProcess(). Waits ten seconds at most, and leaves this
/// receive timeout on the socket. Throws Error, also if this process can't read the peer's memory.
[[nodiscard]] PeerAuthResult authenticateTo(int socket);

}  // namespace criu::engine
