// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

/// Checksum of Internet protocols (RFC 1071).
namespace criu::sockets {

/// Pseudo header: data that the checksum of TCP and UDP covers in addition to the packet. The order of the fields
/// doesn't matter, because the checksum is a sum.
struct PseudoHeader {
    std::array<std::uint32_t, 4> from{};
    std::array<std::uint32_t, 4> to{};
    std::uint32_t length = 0;
    std::uint32_t protocol = 0;
};

/// Returns the sum of the 16-bit words, the last of which may be half.
inline std::uint64_t wordSum(std::span<const std::byte> bytes) {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < bytes.size(); i += 2) {
        std::uint16_t word = 0;
        std::memcpy(&word, bytes.data() + i, i + 1 < bytes.size() ? sizeof(word) : 1);
        total += word;
    }
    return total;
}

/// Returns the checksum of data. `total`: sum of the wordSum() of its parts.
inline std::uint16_t checksumOf(std::uint64_t total) {
    while ((total >> 16) != 0)
        total = (total & 0xffff) + (total >> 16);
    return static_cast<std::uint16_t>(~total);
}

template <typename T>
std::span<const std::byte> headerBytes(const T& object) {
    return std::as_bytes(std::span(&object, 1));
}

}  // namespace criu::sockets
