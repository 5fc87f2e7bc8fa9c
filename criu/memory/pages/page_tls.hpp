// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace criu::memory {

/// Certificate files (PEM) of one side of a connection. An unset file is the default file of CRIU 4.2.
struct TlsSettings {
    std::optional<std::string> authorities;  ///< trusted authorities; authorities of the system aren't trusted
    std::optional<std::string> revocations;  ///< revoked certificates; the default file need not exist
    std::optional<std::string> certificate;  ///< certificate of this side
    std::optional<std::string> key;          ///< private key of `certificate`
    std::optional<std::string> peerName;     ///< name that the peer's certificate must have; unset: any name
};

/// Loaded certificates and key of one side. Several connections may share one object.
class TlsCredentials {
public:
    /// Loads GnuTLS and the files. Throws Error if a file can't be used, no authority is given, or users other than the
    /// owner and the group may access the key.
    explicit TlsCredentials(const TlsSettings& settings);
    ~TlsCredentials();
    TlsCredentials(const TlsCredentials&) = delete;
    TlsCredentials& operator=(const TlsCredentials&) = delete;

private:
    friend class PageTls;
    class Library;
    struct Loaded;

    std::unique_ptr<const Loaded> loaded_;
};

/// TLS 1.2 or later over a connected socket: both sides verify the other's X.509 certificate. A certificate with
/// extended key usages must allow the peer's side: "TLS Web Server" or "TLS Web Client Authentication" (RFC 5280). No
/// call waits.
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
    PageTls(int socket, Side side, std::shared_ptr<const TlsCredentials> credentials);
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
    class State;

    std::unique_ptr<State> state_;
};

}  // namespace criu::memory
