// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "criu/base/unique_fd.hpp"
#include "criu/image/record.hpp"
#include "images/rpc.hpp"

namespace criu {
class StopRequest;
}

namespace criu::service {

/// Maximum size of a request. Lists of mounts make requests of about 100 KiB; the kernel's default limit for a
/// message of a Unix socket is 208 KiB.
inline constexpr std::size_t kLargestRequest = std::size_t{1} << 20;
/// Maximum size of a reply: existing clients read 1 KiB at a time.
inline constexpr std::size_t kLargestReply = 1024;

/// Connection with a client: a Unix socket with message boundaries (SOCK_SEQPACKET). A packet is one message of
/// images/rpc.proto without a header.
class Connection {
public:
    /// Throws Error unless the socket is a connected SOCK_SEQPACKET one.
    explicit Connection(UniqueFd socket);

    [[nodiscard]] int fd() const noexcept { return socket_.get(); }

    /// Waits for the next request. Returns nothing if the client has closed its end or shut down writing. Throws
    /// Error if the request is invalid (it is removed from the queue then) or a stop is requested.
    std::optional<Record<CriuReq>> receive(StopRequest& stop);

    /// True if the client has closed its end or shut down writing.
    [[nodiscard]] bool hasLeft() const;

    /// Sends a reply, with a descriptor unless `passed` is -1. Throws Error if the client has left or doesn't read.
    void send(const CriuResp& reply, int passed = -1);

    /// Closes the connection. The client sees its end unless other processes have a copy.
    void close() noexcept { socket_.reset(); }

private:
    UniqueFd socket_;
};

/// Returns the part of a text that fits a reply, cut between UTF-8 characters.
[[nodiscard]] std::string_view cutToReply(std::string_view text) noexcept;

}  // namespace criu::service
