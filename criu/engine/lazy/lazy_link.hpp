// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

#include "criu/base/ids.hpp"
#include "criu/base/names.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu {
class StopRequest;
}

/// The connection between `criu restore --lazy-pages` and `criu lazy-pages`, by a socket in the work directory that
/// both have. Packets, so that CRIU 4.2, whose socket of the same name is a stream, is refused when it connects: it
/// counts other pages as late.
namespace criu::engine {

/// One packet.
struct LazyMessage {
    enum class Kind : std::uint32_t {
        Memory,   ///< with the userfaultfd of a process
        Process,  ///< with a pidfd of the same process
        Whole,    ///< with a pidfd of a process that has all its memory; not sent to a keeper of clones
        Begin,    ///< all were sent; answered by Ready when faults are being served
        Ready,    ///< by the daemon
        Done,     ///< the processes run
        File,     ///< by the keeper of clones, first of all: with the file that they map
    };
    Kind kind{};
    std::int32_t inside = 0;   ///< the process, as images call it
    std::int32_t outside = 0;  ///< and as criu does
};

/// Throws Error unless the process at the other end is the same user's: it gets descriptors of processes, or sends
/// them.
void requireOwnUser(int socket);

/// One end.
class LazyLink {
public:
    /// The restore's. Throws Error if nobody listens in the current directory.
    static LazyLink connect();

    explicit LazyLink(UniqueFd socket) noexcept : socket_(std::move(socket)) {}

    [[nodiscard]] int fd() const noexcept { return socket_.get(); }

    /// Throws Error.
    void send(const LazyMessage& message, int fd = -1);
    /// Nothing if the other side is gone. Waits, until `stop` wants an end. Throws Error.
    [[nodiscard]] std::optional<LazyMessage> receive(UniqueFd& fd, StopRequest& stop);
    /// The daemon's: waits for the word that the processes run. Throws Error if the restore ends without it.
    void receiveDone(StopRequest& stop);

private:
    UniqueFd socket_;
};

/// The daemon's socket, whose name is there as long as the object.
class LazyListener {
public:
    /// In the current directory. Throws Error, also if another daemon listens there.
    LazyListener();
    ~LazyListener();
    LazyListener(LazyListener&&) noexcept = default;
    LazyListener& operator=(LazyListener&&) = delete;

    /// The one connection of a restore; the name goes with it. Waits, until `stop` wants an end. Throws Error.
    [[nodiscard]] LazyLink accept(StopRequest& stop);

    /// Another process has the socket, too, and goes on with it.
    void leave() noexcept { socket_.reset(); }

private:
    void removeName() noexcept;

    UniqueFd directory_;
    UniqueFd socket_;
    Inode inode_;  ///< of the name
};

}  // namespace criu::engine
