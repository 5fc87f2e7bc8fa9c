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

/// The largest request that is read. Lists of mounts make requests of some 100 KiB; the kernel's usual limit for one
/// message of a Unix socket is 208 KiB.
inline constexpr std::size_t kLargestRequest = std::size_t{1} << 20;
/// What every reply fits in: clients in use read 1 KiB at a time.
inline constexpr std::size_t kLargestReply = 1024;

/// A connection with a client: a Unix socket that keeps boundaries of messages (SOCK_SEQPACKET). A packet is one
/// message of images/rpc.proto, without a header.
class Connection {
public:
    /// Throws Error unless it is such a socket, connected.
    explicit Connection(UniqueFd socket);

    [[nodiscard]] int fd() const noexcept { return socket_.get(); }

    /// Waits for the next request. Nothing: the client has closed its end or shut down writing. Throws Error if it is
    /// no valid request (it is gone from the queue then), or a stop was asked for meanwhile.
    std::optional<Record<CriuReq>> receive(StopRequest& stop);

    /// Whether the client has closed its end, or shut down writing.
    [[nodiscard]] bool hasLeft() const;

    /// Sends a reply, with a descriptor unless that is -1. Throws Error: the client is gone, or doesn't read.
    void send(const CriuResp& reply, int passed = -1);

    /// No more is received or sent here; the client sees the end of the connection, unless others have a copy.
    void close() noexcept { socket_.reset(); }

private:
    UniqueFd socket_;
};

/// As much of a message for a client as fits a reply: cut between characters of UTF-8.
[[nodiscard]] std::string_view cutToReply(std::string_view text) noexcept;

}  // namespace criu::service
