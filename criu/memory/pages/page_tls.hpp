// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace criu::memory {

/// Certificate files (PEM) of one side of a connection.
struct TlsSettings {
    std::optional<std::string> authorities;  ///< trusted authorities; unset: the default file and the system's
    std::optional<std::string> revocations;  ///< unset: the default file, if it exists
    std::optional<std::string> certificate;  ///< unset: the default file
    std::optional<std::string> key;          ///< unset: the default file
    std::optional<std::string> peerName;     ///< required name in the peer's certificate; unset: any
};

/// TLS over a connected socket, as in CRIU 4.2: both sides verify the other's X.509 certificate. Loads GnuTLS on
/// demand. No call waits.
class PageTls {
public:
    enum class Side { Client, Server };

    /// Result of a call. If it would have to wait, `events` is the poll(2) mask to wait for.
    struct Step {
        std::size_t bytes = 0;
        short events = 0;
        bool closed = false;  ///< the peer has ended the session
    };

    /// `socket` is borrowed, and must stay open as long as this object. Throws Error.
    PageTls(int socket, Side side, const TlsSettings& settings);
    ~PageTls();
    PageTls(const PageTls&) = delete;
    PageTls& operator=(const PageTls&) = delete;

    /// Performs the handshake. The caller repeats it until `events` is 0. Throws Error, also for a bad certificate of
    /// the peer.
    [[nodiscard]] Step handshake();
    /// Send and receive. One thread may send while another receives. Throw Error.
    [[nodiscard]] Step send(std::span<const std::byte> bytes);
    [[nodiscard]] Step receive(std::span<std::byte> bytes);
    /// Announces that no more data will be sent.
    void close() noexcept;

private:
    class Library;
    class State;

    std::unique_ptr<State> state_;
};

}  // namespace criu::memory
