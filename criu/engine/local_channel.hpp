// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/pass_fd.hpp"

/// Channels between criu processes of one machine: Unix sockets of type SOCK_SEQPACKET (unix(7)). A daemon listens at
/// an abstract address, and both ends pass peer authentication (kernel/peer_auth.hpp).
namespace criu::engine {

/// Abstract socket address of a daemon. When the socket is closed, the kernel removes the address.
class AbstractAddress {
public:
    /// `name`: at most 107 bytes.
    explicit AbstractAddress(std::string_view name);

    /// Connects a new socket to the address. If connect(2) fails, returns nothing and leaves the reason in errno.
    /// Throws Error if the kernel creates no socket.
    [[nodiscard]] std::optional<UniqueFd> connect() const;
    /// Binds a new socket to the address, but doesn't listen. Returns nothing if another process has bound the address.
    /// Throws Error.
    [[nodiscard]] std::optional<UniqueFd> bind() const;

private:
    [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address_); }

    sockaddr_un address_{};
    socklen_t size_ = 0;
};

/// Creates two connected sockets. Throws Error.
[[nodiscard]] std::pair<UniqueFd, UniqueFd> makeChannel();

/// Starts a daemon, and returns a connection to it. Returns nothing if another process has bound the address. Throws
/// Error. `name`: name of the daemon for messages. `serve`: function that the daemon runs with the bound socket and an
/// authenticated connection to the caller; it must not return.
[[nodiscard]] std::optional<UniqueFd> startDaemon(const AbstractAddress& address, std::string_view name,
                                                  const std::function<void(UniqueFd listener, UniqueFd client)>& serve);

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
