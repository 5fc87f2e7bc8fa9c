// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

#include "criu/base/ids.hpp"
#include "criu/base/names.hpp"
#include "criu/base/ready_wait.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"

/// Connection between `criu restore --lazy-pages` and `criu lazy-pages`, by a socket in their common work directory.
/// The socket is a packet socket: CRIU 4.2 uses a stream socket with the same name, so the kernel refuses connections
/// between both. Such connections would fail, because CRIU 4.2 counts other pages as lazy.
namespace criu::engine {

/// Message between a restore and a daemon, sent as one packet.
struct LazyMessage {
    enum class Kind : std::uint32_t {
        Memory,   ///< restore to daemon: userfaultfd of a process
        Process,  ///< restore to daemon: pidfd of the process in the last message Memory
        Whole,    ///< restore to daemon: pidfd of a process that has all its pages; not sent to a shared-pages daemon
        Begin,    ///< restore to daemon: all processes were sent; the daemon replies with Ready
        Ready,    ///< daemon to restore: the daemon serves faults now
        Done,     ///< restore to daemon: the processes run
        File,     ///< shared-pages daemon to restore: first message, with the shared-pages file
    };
    Kind kind{};
    std::int32_t inside = 0;   ///< TreePid of the process
    std::int32_t outside = 0;  ///< HostPid of the process
};

/// Throws Error if the peer has a different uid. Needed because the ends send each other descriptors that give access
/// to processes.
void requireOwnUser(int socket);

/// One end of the connection between a restore and a daemon.
class LazyLink {
public:
    /// Connects in a restore. Throws Error if no daemon listens in the current directory, or when `stop` is requested.
    static LazyLink connect(StopRequest& stop);

    explicit LazyLink(UniqueFd socket) noexcept : socket_(std::move(socket)) {}

    [[nodiscard]] int fd() const noexcept { return socket_.get(); }

    /// Sends a message with the descriptor `fd`; -1 means no descriptor. Throws Error.
    void send(const LazyMessage& message, int fd = -1);
    /// Waits for a message. Returns nothing if the peer has closed the connection. Throws Error, also after `limit`.
    [[nodiscard]] std::optional<LazyMessage> receive(UniqueFd& fd, const WaitLimit& limit);
    [[nodiscard]] std::optional<LazyMessage> receive(UniqueFd& fd, StopRequest& stop) {
        return receive(fd, {stop, std::nullopt});
    }
    /// Waits in the daemon for the message Done. Throws Error if the restore ends without this message.
    void receiveDone(StopRequest& stop);

private:
    UniqueFd socket_;
};

/// Listening socket of the daemon. The destructor removes the socket's name.
class LazyListener {
public:
    /// Listens in the current directory. Throws Error, also if another daemon listens there.
    LazyListener();
    ~LazyListener();
    LazyListener(LazyListener&&) noexcept = default;
    LazyListener& operator=(LazyListener&&) = delete;

    /// Waits for the connection of a restore, and then removes the socket file. Throws Error, also when `stop` is
    /// requested.
    [[nodiscard]] LazyLink accept(StopRequest& stop);

    /// Closes the socket without removing the socket file, because another process still uses the file.
    void leave() noexcept { socket_.reset(); }

private:
    void removeName() noexcept;

    UniqueFd directory_;
    UniqueFd socket_;
    Inode inode_;  ///< inode of the socket file, by which removeName() recognizes the file
};

}  // namespace criu::engine
