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
/// connection, the user requests a stop, or the timeout expires. criu doesn't change the file status flags of the
/// socket, because other processes may share a --ps-socket. TCP_NODELAY is set, so that the kernel sends small messages
/// at once. One thread may send while another receives.
class PageConnection {
public:
    /// `patience`: timeout for a peer that neither sends nor receives; 0 means no timeout. `stop` must outlive this
    /// object.
    PageConnection(UniqueFd socket, StopRequest& stop, std::chrono::seconds patience) noexcept;
    ~PageConnection();
    PageConnection(PageConnection&&) noexcept;
    PageConnection& operator=(PageConnection&&) = delete;

    /// Starts TLS and verifies the peer's certificate. `limit`: maximum time for the complete handshake. Without
    /// `limit`, only the timeout of each wait applies. Throws Error.
    void secure(bool asServer, std::shared_ptr<const TlsCredentials> credentials,
                std::optional<std::chrono::milliseconds> limit = std::nullopt);
    /// Ends TLS; the socket stays open. The peer must not send data afterwards. Throws Error.
    void endSecurity();

    /// Sends all bytes. With `moreFollows`, the kernel may delay them until the next bytes are sent. Throws Error:
    /// ETIMEDOUT if the peer receives nothing until the timeout, EINTR if a stop is requested.
    void send(std::span<const std::byte> bytes, bool moreFollows = false);

    /// Fills `bytes` completely. Returns false if the peer closed the connection before the first byte. Throws Error
    /// with the codes of send().
    [[nodiscard]] bool receive(std::span<std::byte> bytes);

    /// Sets the timeout for a peer that neither sends nor receives; 0 means no timeout.
    void setPatience(std::chrono::seconds patience) noexcept;

    /// Makes all waiting and later calls fail as if the peer had closed the connection. Any thread may call it.
    void interrupt() noexcept;

    /// Receives a reply that is one number in the machine's byte order. Throws Error, also if the peer closed the
    /// connection.
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
    std::unique_ptr<PageTls> tls_;  ///< null if the connection isn't encrypted
};

}  // namespace criu::memory
