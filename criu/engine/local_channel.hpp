// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/base/ready_wait.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/pass_fd.hpp"

namespace criu::model {
struct Options;
}

/// Channels between criu processes of one machine: Unix sockets of type SOCK_SEQPACKET (unix(7)). A daemon listens in a
/// folder that only its user can enter, and both ends pass peer authentication (kernel/peer_auth.hpp).
///
/// Each daemon has a directory DIRECTORY/criu/daemons/NAME with its socket. It holds a lock on that directory as long
/// as it runs, and so another process recognizes the socket of a daemon that was killed. An abstract address isn't
/// suitable: any process of the network namespace can bind it first, or fill the queue of its connections.
namespace criu::engine {

/// Returns the limits of waits for another criu process: stop requests and --timeout.
[[nodiscard]] WaitLimit waitLimitOf(const model::Options& options, StopRequest& stop) noexcept;

/// Returns the limits of waits for a daemon that may read images first: stop requests, and --timeout if the user has
/// given it.
[[nodiscard]] WaitLimit longWaitLimitOf(const model::Options& options, StopRequest& stop) noexcept;

/// Returns the directories that may contain daemons, best first: /run for root, and $XDG_RUNTIME_DIR.
[[nodiscard]] std::vector<std::string> runtimeDirectories();

/// Opens DIRECTORY/criu/FOLDER, which only this user can enter. Returns an invalid descriptor if there is none. Throws
/// Error.
[[nodiscard]] UniqueFd openRuntimeFolder(const std::string& directory, const char* folder);

/// Locked directory DIRECTORY/criu/FOLDER/NAME, which only this user can enter.
struct RuntimeDirectory {
    UniqueFd folder;
    std::string name;
    UniqueFd lock;  ///< the directory, with a lock (flock(2)); empty if another process holds the lock

    /// Creates the directory. Throws Error.
    [[nodiscard]] static RuntimeDirectory create(const std::string& directory, const char* folder, std::string name);
    /// Locks the directories in the folder for which `wanted` returns true and on which no process holds a lock.
    /// Throws Error. `wanted`: called with a descriptor of the directory.
    [[nodiscard]] static std::vector<RuntimeDirectory> unlocked(int folder,
                                                                const std::function<bool(int directory)>& wanted);
};

/// Directory of a running daemon with its listening socket. The daemon holds this object as long as it runs.
class DaemonPlace {
public:
    DaemonPlace(UniqueFd folder, std::string name, UniqueFd lock) noexcept
        : folder_(std::move(folder)), name_(std::move(name)), lock_(std::move(lock)) {}

    /// Creates and binds the socket, and doesn't call listen(2). Throws Error.
    void bind();
    [[nodiscard]] int listener() const noexcept { return listener_.get(); }
    /// Returns all descriptors, which the daemon must not close.
    [[nodiscard]] std::vector<int> descriptors() const;
    /// Removes socket and directory. Closes the socket first, so that connections fail.
    void remove() noexcept;

private:
    UniqueFd folder_;
    std::string name_;
    UniqueFd lock_;  ///< the directory, with a lock (flock(2))
    UniqueFd listener_;
};

/// Address of a daemon.
class DaemonAddress {
public:
    /// `name`: a file name. `directories`: directories that may contain the daemon.
    explicit DaemonAddress(std::string name, std::vector<std::string> directories = runtimeDirectories())
        : name_(std::move(name)), directories_(std::move(directories)) {}

    /// Connects a new socket to the daemon. Returns nothing if no daemon listens. Throws Error, also after `limit` if
    /// the queue of the daemon stays full.
    [[nodiscard]] std::optional<UniqueFd> connect(const WaitLimit& limit) const;
    /// Creates and locks the daemon's directory. First removes directories of daemons that were killed. Returns nothing
    /// if a daemon with this address runs. Throws Error.
    [[nodiscard]] std::optional<DaemonPlace> take() const;

private:
    std::string name_;
    std::vector<std::string> directories_;
};

/// Creates two connected sockets. Throws Error.
[[nodiscard]] std::pair<UniqueFd, UniqueFd> makeChannel();

/// Sets the maximum duration of a blocking send or receive on a socket. Throws Error.
void limitBlocking(int socket, std::chrono::seconds duration);

/// Starts a daemon, and returns a connection to it. Returns nothing if a daemon with this address runs. Throws Error.
/// `name`: name of the daemon for messages. `serve`: called in the daemon with its place and an authenticated
/// connection to the caller; must not return.
[[nodiscard]] std::optional<UniqueFd> startDaemon(const DaemonAddress& address, std::string_view name,
                                                  const std::function<void(DaemonPlace place, UniqueFd client)>& serve);

/// Sends a packet with the descriptor `fd`; -1 means no descriptor. Throws Error.
template <typename Message>
void sendPacket(int socket, const Message& message, int fd = -1) {
    kernel::sendMessage(socket, std::as_bytes(std::span(&message, 1)), fd);
}

/// Receives a packet, and puts its descriptor, if any, into `fd`. Returns nothing if the peer has closed the
/// connection. Throws Error.
template <typename Message>
[[nodiscard]] std::optional<Message> receivePacket(int socket, UniqueFd& fd) {
    Message message;
    kernel::ReceivedMessage received = kernel::receiveMessage(socket, std::as_writable_bytes(std::span(&message, 1)));
    if (received.size == 0)
        return std::nullopt;
    if (received.size != sizeof(message))
        fail("a message of {} bytes instead of {}", received.size, sizeof(message));
    if (received.lost)
        failWith(EMFILE, "take over the descriptor of a message");
    fd = std::move(received.fd);
    return message;
}

}  // namespace criu::engine
