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

    /// Returns the number of words that the family has.
    [[nodiscard]] std::size_t length() const noexcept { return family == AF_INET ? 1 : words.size(); }
    [[nodiscard]] bool isAny() const noexcept { return words == decltype(words){}; }
    /// True for an IPv6 address that is valid on one link only, so that it needs a scope id.
    [[nodiscard]] bool needsScope() const noexcept;
    /// Returns 1.2.3.4 for ::ffff:1.2.3.4, because packets have the IPv4 address.
    [[nodiscard]] InetEndpoint unmapped() const noexcept;

    /// Replaces the address by the first mapping that matches it. Mappings of IPv4 apply to ::ffff:1.2.3.4, too.
    void replaceAddress(std::span<const model::InetMapping> mappings) noexcept;

    /// Fills `out` and returns its length. `scope`: scope id for addresses that need one.
    socklen_t store(SocketAddress& out, std::uint32_t scope = 0) const noexcept;

    /// Returns for instance "127.0.0.1" or "::1".
    [[nodiscard]] std::string address() const;
    /// Returns for instance "127.0.0.1:80" or "[::1]:80".
    [[nodiscard]] std::string text() const;

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

/// Function that may replace addresses of a socket in this state before it is restored.
using AddressUpdate = std::function<void(std::uint32_t state, InetConnection& ends)>;

}  // namespace criu::sockets
