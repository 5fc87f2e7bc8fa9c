// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace criu::memory {

/// Certificates of one side of a connection, in files (PEM).
struct TlsSettings {
    std::optional<std::string> authorities;  ///< who is trusted; absent: the usual file and what the system trusts
    std::optional<std::string> revocations;  ///< absent: the usual file, if it is there
    std::optional<std::string> certificate;  ///< absent: the usual file
    std::optional<std::string> key;          ///< absent: the usual file
    std::optional<std::string> peerName;     ///< what the other side's certificate has to be for; absent: anything
};

/// TLS over a connected socket, as CRIU 4.2 has it: both sides show certificates (X.509) and check the other's. By
/// GnuTLS, which is loaded when it is needed. No call waits.
class PageTls {
public:
    enum class Side { Client, Server };

    /// What a call has done. What it couldn't do because it would have had to wait: `events` of poll(2) say for what.
    struct Step {
        std::size_t bytes = 0;
        short events = 0;
        bool closed = false;  ///< the other side has ended the session
    };

    /// `socket` stays the caller's, and open as long as this object. Throws Error.
    PageTls(int socket, Side side, const TlsSettings& settings);
    ~PageTls();
    PageTls(const PageTls&) = delete;
    PageTls& operator=(const PageTls&) = delete;

    /// The beginning; to be called again until it doesn't want to wait. Throws Error, also if the other side's
    /// certificate isn't good.
    [[nodiscard]] Step handshake();
    /// One thread may send while another one receives. Throw Error.
    [[nodiscard]] Step send(std::span<const std::byte> bytes);
    [[nodiscard]] Step receive(std::span<std::byte> bytes);
    /// Says that nothing more will be sent.
    void close() noexcept;

private:
    class Library;
    class State;

    std::unique_ptr<State> state_;
};

}  // namespace criu::memory
