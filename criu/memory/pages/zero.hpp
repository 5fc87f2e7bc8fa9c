// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace criu::memory {

/// Whether all of it, which is at least one byte, is zero. Mostly the first byte tells; otherwise each byte is compared
/// with the one before it.
[[nodiscard]] inline bool isZero(std::span<const std::byte> bytes) noexcept {
    return bytes.front() == std::byte{} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace criu::memory
