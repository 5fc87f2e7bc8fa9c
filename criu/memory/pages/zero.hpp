// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace criu::memory {

/// Returns true if all bytes are zero; `bytes` must not be empty. In most pages with content, the first byte isn't
/// zero, so that the function returns at once. Otherwise memcmp() compares each byte with the byte before it.
[[nodiscard]] inline bool isZero(std::span<const std::byte> bytes) noexcept {
    return bytes.front() == std::byte{} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace criu::memory
