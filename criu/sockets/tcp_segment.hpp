// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "criu/sockets/inet_endpoint.hpp"

namespace criu::sockets {

/// TCP segment without data (RFC 9293).
struct TcpSegment {
    InetEndpoint from;
    InetEndpoint to;
    std::uint32_t sequence = 0;
    std::uint32_t acknowledged = 0;
    std::uint16_t window = 0;  ///< as on the wire, not scaled
    bool fin = false;
    bool reset = false;
};

/// Returns the packet, with IP header and checksums. Both ends have the same family.
std::vector<std::byte> encodeSegment(const TcpSegment& segment);

/// Sends a forged segment to a socket of this host. It passes a NetworkLock. `device`: scope id for the local address,
/// or 0.
void forgeSegment(const TcpSegment& segment, std::uint32_t device);

}  // namespace criu::sockets
