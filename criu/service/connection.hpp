// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "criu/base/ready_wait.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/record.hpp"
#include "images/rpc.hpp"

namespace criu::service {

/// Maximal size of a request in bytes. Requests with lists of mounts have about 100 KiB. The kernel's default limit for
/// a message of a Unix socket is 208 KiB.
inline constexpr std::size_t kLargestRequest = std::size_t{1} << 20;
/// Maximal size of a reply in bytes, because existing clients have a buffer of 1 KiB.
inline constexpr std::size_t kLargestReply = 1024;

/// Connection with a client. It is a Unix socket with message boundaries (SOCK_SEQPACKET). Each packet is one message
/// of images/rpc.proto without a header.
class Connection {
public:
    /// Throws Error if the socket isn't a connected Unix socket of type SOCK_SEQPACKET.
    explicit Connection(UniqueFd socket);

    [[nodiscard]] int fd() const noexcept { return socket_.get(); }

    /// Waits for the next request. Returns nullopt if the client has closed its end or shut down writing. Throws Error
    /// if a stop is requested, after the limit, or if the request is invalid; an invalid request is removed from the
    /// queue.
    std::optional<Record<CriuReq>> receive(const WaitLimit& limit);
    std::optional<Record<CriuReq>> receive(StopRequest& stop) { return receive({stop, std::nullopt}); }

    /// Returns true if the client has closed its end or shut down writing.
    [[nodiscard]] bool hasLeft() const;

    /// Sends a reply, and the descriptor `passed` unless it is -1. Throws Error if the client has closed its end or
    /// doesn't read.
    void send(const CriuResp& reply, int passed = -1);

    /// Closes the connection. The client sees the end of the connection if no other process has a copy of the socket.
    void close() noexcept { socket_.reset(); }

private:
    UniqueFd socket_;
};

/// Returns the beginning of a text that fits into a reply. It ends between two UTF-8 characters.
[[nodiscard]] std::string_view cutToReply(std::string_view text) noexcept;

}  // namespace criu::service
