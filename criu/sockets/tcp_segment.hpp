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
    std::uint16_t window = 0;  ///< the number in the packet, before window scaling
    bool fin = false;
    bool reset = false;
};

/// Returns the packet, with IP header and checksums. Both ends have the same family.
std::vector<std::byte> encodeSegment(const TcpSegment& segment);

/// Sends a forged segment to a socket of this host. Network locks don't drop the segment. `device`: scope id of
/// `segment.to`; 0 if that address needs none.
void forgeSegment(const TcpSegment& segment, std::uint32_t device);

}  // namespace criu::sockets
