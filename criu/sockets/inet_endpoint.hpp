// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace criu::model {
struct InetMapping;
}

namespace criu::sockets {

/// Socket address for bind(2) and connect(2).
union SocketAddress {
    sockaddr generic;
    sockaddr_in v4;
    sockaddr_in6 v6;
    sockaddr_storage room;
};

/// One end of a connection, as in images. The address has one or four words in network byte order. The port is in host
/// byte order.
struct InetEndpoint {
    int family = AF_INET;
    std::array<std::uint32_t, 4> words{};
    std::uint16_t port = 0;

    /// Reads an address and a port of the images. Throws Error if they are invalid for the family.
    static InetEndpoint fromImage(int family, std::span<const std::uint32_t> words, std::uint32_t port);
    static InetEndpoint fromSocket(const SocketAddress& address);

    /// Returns the number of 32-bit words in an address of the family: 1 for IPv4, 4 for IPv6.
    [[nodiscard]] std::size_t length() const noexcept { return family == AF_INET ? 1 : words.size(); }
    [[nodiscard]] bool isAny() const noexcept { return words == decltype(words){}; }
    /// True for an IPv6 address that is valid only on one link. The kernel needs a scope id (an interface) for such an
    /// address.
    [[nodiscard]] bool needsScope() const noexcept;
    /// Returns the address that packets of the socket contain. This is 1.2.3.4 for ::ffff:1.2.3.4, and the unchanged
    /// address in other cases.
    [[nodiscard]] InetEndpoint unmapped() const noexcept;

    /// Replaces the address according to the first mapping of --inet-map that matches it. A mapping of the IPv4 address
    /// 1.2.3.4 also matches ::ffff:1.2.3.4. Returns this mapping, or nullptr if none matches.
    const model::InetMapping* replaceAddress(std::span<const model::InetMapping> mappings) noexcept;

    /// Writes address and port to `out`, and returns the number of bytes used. `scope`: scope id for an address that
    /// needs one (needsScope()).
    socklen_t store(SocketAddress& out, std::uint32_t scope = 0) const noexcept;

    /// Returns for instance "127.0.0.1" or "::1".
    [[nodiscard]] std::string address() const;
    /// Returns for instance "127.0.0.1:80" or "[::1]:80".
    [[nodiscard]] std::string text() const;

    /// Returns family, address and port as one word of a journal.
    [[nodiscard]] std::string word() const;
    /// Reads a result of word(). Throws Error.
    static InetEndpoint fromWord(const std::string& word);

    friend auto operator<=>(const InetEndpoint&, const InetEndpoint&) = default;
};

/// Both ends of a TCP connection.
struct InetConnection {
    InetEndpoint local;
    InetEndpoint remote;

    /// Returns both ends as they appear in packets.
    [[nodiscard]] InetConnection unmapped() const noexcept { return {local.unmapped(), remote.unmapped()}; }
    [[nodiscard]] std::string text() const;

    friend auto operator<=>(const InetConnection&, const InetConnection&) = default;
};

/// Function that a restore calls before it creates an Internet socket. It may replace the socket's addresses. `state`:
/// TCP state of the socket.
using AddressUpdate = std::function<void(std::uint32_t state, InetConnection& ends)>;

}  // namespace criu::sockets
