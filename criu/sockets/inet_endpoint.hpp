// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <string>

namespace criu::sockets {

/// A socket address as bind(2) and connect(2) take it.
union SocketAddress {
    sockaddr generic;
    sockaddr_in v4;
    sockaddr_in6 v6;
    sockaddr_storage room;
};

/// One end of a connection, in the form of the images: addresses in network byte order, one or four words of them; the
/// port in host order.
struct InetEndpoint {
    int family = AF_INET;
    std::array<std::uint32_t, 4> words{};
    std::uint16_t port = 0;

    /// `port` as images have it; throws Error if address or port can't be one of that family.
    static InetEndpoint fromImage(int family, std::span<const std::uint32_t> words, std::uint32_t port);
    static InetEndpoint fromSocket(const SocketAddress& address);

    /// How many words the family has.
    [[nodiscard]] std::size_t length() const noexcept { return family == AF_INET ? 1 : words.size(); }
    [[nodiscard]] bool isAny() const noexcept { return words == decltype(words){}; }
    /// An IPv6 address that means a link, so that it needs the link's number.
    [[nodiscard]] bool needsScope() const noexcept;
    /// ::ffff:1.2.3.4 is spoken to as 1.2.3.4.
    [[nodiscard]] InetEndpoint unmapped() const noexcept;

    /// Fills `out`; returns its length. `scope`: number of the link, for addresses that need it.
    socklen_t store(SocketAddress& out, std::uint32_t scope = 0) const noexcept;

    /// "127.0.0.1", "::1".
    [[nodiscard]] std::string address() const;
    /// "127.0.0.1:80", "[::1]:80".
    [[nodiscard]] std::string text() const;

    friend auto operator<=>(const InetEndpoint&, const InetEndpoint&) = default;
};

/// The two ends of a TCP connection.
struct InetConnection {
    InetEndpoint local;
    InetEndpoint remote;

    /// Both ends as they appear in packets.
    [[nodiscard]] InetConnection unmapped() const noexcept { return {local.unmapped(), remote.unmapped()}; }
    [[nodiscard]] std::string text() const;

    friend auto operator<=>(const InetConnection&, const InetConnection&) = default;
};

}  // namespace criu::sockets
