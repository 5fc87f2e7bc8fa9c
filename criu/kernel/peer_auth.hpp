// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>

/// How two processes of criu that meet at an abstract socket know each other. Anybody in the network namespace may take
/// its name, or connect; and to be the same user says little: root of a container may be that. So each side tells what
/// lies in the other's memory, which the kernel lets those only read who may trace the other (ptrace(2)), and who may
/// do that to a process of criu's may do it to the tree.
namespace criu::engine {

/// Random bytes in the memory of one side.
using Proof = std::array<std::byte, 16>;

/// The side that listens, for one that has connected. Each of its own: they don't wait for each other.
class PeerAuthentication {
public:
    /// Throws Error if the other side is another user's.
    explicit PeerAuthentication(int socket);

    /// Takes what has come. Returns whether the other side may be believed now. Throws Error if it may not, or is gone.
    /// It is this object's memory that the other side reads: it stays where it is.
    bool take();

private:
    int socket_;
    Proof proof_;
    bool greeted_ = false;
};

/// The listening process is this one from now on, by what the kernel says to whoever connects (SO_PEERCRED). Throws
/// Error.
void listenAsCurrentProcess(int listener, int backlog);

enum class PeerAuthResult {
    Believed,
    UnauthenticatedPeer,  ///< another user's process, or one that may not read this one's memory
    Gone,                 ///< it has closed the connection
};

/// The side that connects, with a socket that was listened at by listenAsCurrentProcess(). Waits ten seconds at most;
/// later reads from the socket do so, too. Throws Error, also if this process may not read the other's memory.
[[nodiscard]] PeerAuthResult authenticateTo(int socket);

}  // namespace criu::engine
