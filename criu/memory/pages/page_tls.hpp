// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace criu::memory {

/// Certificate files (PEM) of one end of a connection. If a file is unset, criu uses the default path of CRIU 4.2.
struct TlsSettings {
    /// File with trusted authorities; criu doesn't trust the authorities of the system.
    std::optional<std::string> authorities;
    std::optional<std::string> revocations;  ///< file with revoked certificates; the default file may be missing
    std::optional<std::string> certificate;  ///< file with the certificate of this end
    std::optional<std::string> key;          ///< file with the private key of `certificate`
    /// Name that the peer's certificate must have; if unset, any name is accepted.
    std::optional<std::string> peerName;
};

/// Loaded certificates and key of one end. Several connections may share one object.
class TlsCredentials {
public:
    /// Loads GnuTLS and the files. Throws Error if a file can't be used, or no authority is given. Also throws if the
    /// group may write to the key, or if other users may access it.
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

/// TLS 1.2 or later on a connected socket. Each end verifies the X.509 certificate of the other end. If a certificate
/// has extended key usages, they must include "TLS Web Server Authentication" for a server, and "TLS Web Client
/// Authentication" for a client (RFC 5280). No call waits.
class PageTls {
public:
    enum class Side { Client, Server };

    /// Result of a call. If `events` isn't 0, the caller must wait for these poll(2) events and repeat the call.
    struct Step {
        std::size_t bytes = 0;
        short events = 0;
        bool closed = false;  ///< true if the peer has ended the session
    };

    /// `socket` is borrowed, and must stay open until this object is destroyed. Throws Error.
    PageTls(int socket, Side side, std::shared_ptr<const TlsCredentials> credentials);
    ~PageTls();
    PageTls(const PageTls&) = delete;
    PageTls& operator=(const PageTls&) = delete;

    /// Performs a part of the handshake. The caller repeats the call until `events` is 0. Throws Error, also if the
    /// peer's certificate isn't valid.
    [[nodiscard]] Step handshake();
    /// Send or receive some of the bytes. One thread may send while another receives. Throw Error.
    [[nodiscard]] Step send(std::span<const std::byte> bytes);
    [[nodiscard]] Step receive(std::span<std::byte> bytes);
    /// Informs the peer that no more data follows.
    void close() noexcept;

private:
    class State;

    std::unique_ptr<State> state_;
};

}  // namespace criu::memory
