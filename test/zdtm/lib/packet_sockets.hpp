// SPDX-License-Identifier: GPL-2.0-only
// Packet sockets on the loopback device, with rings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

struct sockaddr_ll;

namespace zdtm {

// The device, and packets of one protocol. Tests share the host's network, so each needs protocols of its own.
sockaddr_ll on_loopback(std::uint16_t protocol);

// A raw socket bound there with a ring for reception: version 2, frames of 2048 bytes, `blocks` of a page each. Skips
// the test where there are no packet sockets.
int packet_ring(std::uint16_t protocol, unsigned blocks);

// Requires a packet with "into the ring" in the first frame, soon.
void check_arrives(std::span<std::byte> ring);

}  // namespace zdtm
