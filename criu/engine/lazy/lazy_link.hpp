// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

#include "criu/base/ids.hpp"
#include "criu/base/names.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"

/// Connection between `criu restore --lazy-pages` and `criu lazy-pages`, by a socket in their common work directory. It
/// is a packet socket, so that the kernel refuses connections with CRIU 4.2. Its stream socket has the same name, but
/// CRIU 4.2 counts other pages as lazy.
namespace criu::engine {

/// One packet.
struct LazyMessage {
    enum class Kind : std::uint32_t {
        Memory,   ///< with the userfaultfd of a process
        Process,  ///< with a pidfd of the same process
        Whole,    ///< with a pidfd of a process that has all its pages; not sent to the shared-pages daemon
        Begin,    ///< end of the list; answered by Ready when faults are served
        Ready,    ///< sent by the daemon
        Done,     ///< the processes run
        File,     ///< first message of the shared-pages daemon, with the file that clones map
    };
    Kind kind{};
    std::int32_t inside = 0;   ///< TreePid of the process
    std::int32_t outside = 0;  ///< HostPid of the process
};

/// Throws Error unless the peer has the same user. The peer receives or sends descriptors of processes.
void requireOwnUser(int socket);

/// One end of the connection.
class LazyLink {
public:
    /// Connects in a restore. Throws Error if no daemon listens in the current directory.
    static LazyLink connect();

    explicit LazyLink(UniqueFd socket) noexcept : socket_(std::move(socket)) {}

    [[nodiscard]] int fd() const noexcept { return socket_.get(); }

    /// Sends a message, with a descriptor unless it is -1. Throws Error.
    void send(const LazyMessage& message, int fd = -1);
    /// Waits for a message. Returns nothing if the peer has closed the connection. Throws Error, also when `stop` is
    /// requested.
    [[nodiscard]] std::optional<LazyMessage> receive(UniqueFd& fd, StopRequest& stop);
    /// Waits in the daemon until the restored processes run. Throws Error if the restore ends without that message.
    void receiveDone(StopRequest& stop);

private:
    UniqueFd socket_;
};

/// Socket of the daemon. Its name exists as long as the object.
class LazyListener {
public:
    /// Listens in the current directory. Throws Error, also if another daemon listens there.
    LazyListener();
    ~LazyListener();
    LazyListener(LazyListener&&) noexcept = default;
    LazyListener& operator=(LazyListener&&) = delete;

    /// Waits for the one connection of a restore, and removes the name. Throws Error, also when `stop` is requested.
    [[nodiscard]] LazyLink accept(StopRequest& stop);

    /// Closes the socket without removing its name, because another process uses it.
    void leave() noexcept { socket_.reset(); }

private:
    void removeName() noexcept;

    UniqueFd directory_;
    UniqueFd socket_;
    Inode inode_;  ///< inode of the name
};

}  // namespace criu::engine
