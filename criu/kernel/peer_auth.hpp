// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "criu/base/ready_wait.hpp"
#include "criu/kernel/proc/pidfd.hpp"

/// Peer authentication between two criu processes that connect through a Unix socket. Root of a container may have the
/// same uid, and may reach the socket.
/// So each process proves that it can read a random secret in the memory of the other process. The kernel allows this
/// read only to processes that may trace the other process (ptrace(2)). A process that may trace criu may also trace
/// the tree, so it gains nothing.
namespace criu::engine {

/// Random secret in the memory of one process.
using Proof = std::array<std::byte, 16>;

/// Returns a pidfd of the process that connected to a socket, or that listens there. Returns nothing if the process has
/// ended. `pid`: its pid (SO_PEERCRED). Before Linux 6.5 (SO_PEERPIDFD), criu opens the process by its pid, which the
/// kernel may already have reused. Throws Error.
[[nodiscard]] std::optional<kernel::PidFd> openPeer(int socket, pid_t pid);

/// Process at the other end of a connection, as the kernel reports it.
class PeerProcess {
public:
    /// Throws Error if the process has another uid, has ended, or is in a pid namespace that this process can't see.
    explicit PeerProcess(int socket);

    /// Reads memory of the process. Throws Error if the process has ended before the end of the read, because the pid
    /// then may belong to another process.
    void read(std::uint64_t address, std::span<std::byte> bytes) const;

private:
    kernel::PidFd process_;
};

/// Listener's half of the authentication of one connection. Each connection needs one object, so that no connection
/// waits for another one.
class PeerAuthentication {
public:
    /// Throws Error like PeerProcess.
    explicit PeerAuthentication(int socket);

    /// Receives the next message of the peer. Returns true when the peer is authenticated. Throws Error if the
    /// authentication failed or the peer closed the connection. The object must stay at its address, because the peer
    /// reads its memory.
    bool take();

private:
    int socket_;
    PeerProcess peer_;
    Proof proof_;
    bool greeted_ = false;
};

/// Makes the calling process the process that the kernel reports to connecting peers as the listener (SO_PEERCRED).
/// Throws Error.
void listenAsCurrentProcess(int listener, int backlog);

enum class PeerAuthResult {
    Believed,
    UnauthenticatedPeer,  ///< the peer can't read the memory of this process
    Gone,                 ///< the peer has ended or closed the connection
};

/// Authenticates this process to a listener that called listenAsCurrentProcess(). Throws Error, also after `limit`, and
/// if this process can't read the memory of the peer.
[[nodiscard]] PeerAuthResult authenticateTo(int socket, const WaitLimit& limit);

}  // namespace criu::engine
