// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "criu/base/unique_fd.hpp"

namespace criu {
class StopRequest;
}

namespace criu::memory {

class TlsCredentials;
class PageTls;

/// One end of a stream socket between a sender of pages and a page server. Every wait ends if the peer closes the
/// connection, a stop is requested, or the timeout expires.
/// The file status flags of the socket stay unchanged, because other processes may share a --ps-socket. The socket
/// sends small messages at once. One thread may send while another receives.
class PageConnection {
public:
    /// `patience`: timeout for a peer that neither sends nor receives; 0: none. `stop` must outlive this object.
    PageConnection(UniqueFd socket, StopRequest& stop, std::chrono::seconds patience) noexcept;
    ~PageConnection();
    PageConnection(PageConnection&&) noexcept;
    PageConnection& operator=(PageConnection&&) = delete;

    /// Starts TLS and verifies the peer's certificate. `limit`: time for the whole handshake; nothing for no limit
    /// other than the timeout. Throws Error.
    void secure(bool asServer, std::shared_ptr<const TlsCredentials> credentials,
                std::optional<std::chrono::milliseconds> limit = std::nullopt);
    /// Ends TLS and keeps the socket. No other data may be pending. Throws Error.
    void endSecurity();

    /// Sends all bytes, at once or together with the next ones. Throws Error: ETIMEDOUT if the peer accepts nothing
    /// for too long, EINTR if a stop is requested.
    void send(std::span<const std::byte> bytes, bool moreFollows = false);

    /// Receives exactly the size of `bytes`. Returns false if the peer closed the connection before the first byte.
    /// Throws Error as send() does.
    [[nodiscard]] bool receive(std::span<std::byte> bytes);

    /// Sets the timeout.
    void setPatience(std::chrono::seconds patience) noexcept;

    /// Makes all waiting and later calls fail as if the peer had closed. Any thread may call it.
    void interrupt() noexcept;

    /// Receives an answer: one number in the machine's byte order. Throws Error, also if the connection is closed.
    template <typename Number>
    [[nodiscard]] Number receiveNumber() {
        Number number{};
        receiveAnswer(std::as_writable_bytes(std::span(&number, 1)));
        return number;
    }

private:
    void receiveAnswer(std::span<std::byte> bytes);
    void await(short events, const char* what);

    std::size_t sendSome(std::span<const std::byte> bytes, bool moreFollows);
    std::size_t receiveSome(std::span<std::byte> bytes);

    UniqueFd socket_;
    StopRequest& stop_;
    std::optional<std::chrono::milliseconds> patience_;
    std::unique_ptr<PageTls> tls_;  ///< null: not encrypted
};

}  // namespace criu::memory
