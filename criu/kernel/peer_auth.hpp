// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>

/// Peer authentication between two criu processes that connect by an abstract socket. Any process of the network
/// namespace can bind or connect to such a socket, and root of a container may have the same uid. So each process
/// proves that it can read a random secret in the memory of the other process. The kernel allows this only to a process
/// that may trace the other one (ptrace(2)). Such a process gains nothing by a false proof: if it may trace criu, it
/// may trace the tree, too.
namespace criu::engine {

/// Random secret in the memory of one process.
using Proof = std::array<std::byte, 16>;

/// Listener's part of the authentication of one connection. Each connection has its own object, so that no connection
/// waits for another one.
class PeerAuthentication {
public:
    /// Throws Error if the peer has another uid.
    explicit PeerAuthentication(int socket);

    /// Receives the next message of the peer. Returns true when the peer is authenticated. Throws Error if the
    /// authentication failed or the peer closed the connection. The object must stay at its address, because the peer
    /// reads its memory.
    bool take();

private:
    int socket_;
    Proof proof_;
    bool greeted_ = false;
};

/// Makes the calling process the process that the kernel reports to connecting peers as the listener (SO_PEERCRED).
/// Throws Error.
void listenAsCurrentProcess(int listener, int backlog);

enum class PeerAuthResult {
    Believed,
    UnauthenticatedPeer,  ///< the peer belongs to another user, or can't read the memory of this process
    Gone,                 ///< the peer has closed the connection
};

/// Authenticates this process to a listener that has called listenAsCurrentProcess(). Waits at most ten seconds; the
/// socket keeps this receive timeout. Throws Error, for instance if this process can't read the memory of the peer.
[[nodiscard]] PeerAuthResult authenticateTo(int socket);

}  // namespace criu::engine
