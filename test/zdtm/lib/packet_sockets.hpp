// SPDX-License-Identifier: GPL-2.0-only
// Packet sockets with rings on the loopback device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

struct sockaddr_ll;

namespace zdtm {

// Returns the address of the loopback device and one protocol. Tests share the host's network, so each uses other
// protocols.
sockaddr_ll on_loopback(std::uint16_t protocol);

// Makes a raw socket with a receive ring: version 2, frames of 2048 bytes, `blocks` pages. Skips the test if the kernel
// has no packet sockets.
int packet_ring(std::uint16_t protocol, unsigned blocks);

// Requires a packet with "into the ring" in the first frame within kPatience.
void check_arrives(std::span<std::byte> ring);

}  // namespace zdtm
