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

class PageTls;
struct TlsSettings;

/// One end of a stream socket between a sender of pages and a page server. Every wait for the other side ends: when
/// that side has closed the connection, when a stop is requested, and when it let nothing go on for too long.
///
/// The file status of the socket isn't changed (a socket of --ps-socket is somebody else's as well); its small messages
/// are sent at once. One thread may send while another one receives.
class PageConnection {
public:
    /// `patience`: how long the other side may neither send what is waited for nor take what is sent; 0: as long as it
    /// likes. `stop` outlives this object.
    PageConnection(UniqueFd socket, StopRequest& stop, std::chrono::seconds patience) noexcept;
    ~PageConnection();
    PageConnection(PageConnection&&) noexcept;
    PageConnection& operator=(PageConnection&&) = delete;

    /// From now on all is encrypted, and the other side is who its certificate says. Throws Error.
    void secure(bool asServer, const TlsSettings& settings);
    /// The end of that; the socket goes on. Nothing but this may be left to be received. Throws Error.
    void endSecurity();

    /// Sends all of it, at once or together with what follows. Throws Error: ETIMEDOUT if the other side takes nothing
    /// for too long, EINTR if a stop is requested.
    void send(std::span<const std::byte> bytes, bool moreFollows = false);

    /// Receives exactly so much. False if the other side has closed the connection before the first byte. Throws Error
    /// as send() does.
    [[nodiscard]] bool receive(std::span<std::byte> bytes);

    /// As the constructor's.
    void setPatience(std::chrono::seconds patience) noexcept;

    /// Lets no call wait any longer: the other side has gone, as far as they can see. For any thread.
    void interrupt() noexcept;

    /// An answer: one number in the byte order of this machine. Throws Error, also if the connection is closed.
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
    std::unique_ptr<PageTls> tls_;  ///< null: nothing is encrypted
};

}  // namespace criu::memory
