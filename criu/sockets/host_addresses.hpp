// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/sockets/inet_endpoint.hpp"

/// Addresses of the interfaces in a network namespace.
namespace criu::sockets {

struct HostAddress {
    InetEndpoint address;    ///< without a port
    unsigned interface = 0;  ///< index of the interface
};

/// Returns the addresses of the calling thread's network namespace. Throws Error.
[[nodiscard]] std::vector<HostAddress> readHostAddresses();

/// True for an address of 127.0.0.0/8. The interface lists one of them, and the kernel accepts packets to all of them.
[[nodiscard]] bool isLoopback(const InetEndpoint& address) noexcept;

/// True for a multicast address and for 255.255.255.255.
[[nodiscard]] bool isForMany(const InetEndpoint& address) noexcept;

/// True if the kernel delivers packets to this address to the host itself: no packet leaves it. `all`: addresses of the
/// host.
[[nodiscard]] bool isOfHost(const InetEndpoint& address, const std::vector<HostAddress>& all) noexcept;

}  // namespace criu::sockets
