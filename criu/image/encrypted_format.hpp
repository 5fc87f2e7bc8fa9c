// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "criu/base/crypto.hpp"
#include "criu/image/catalogue.hpp"

/// Format of encrypted-N.img (Documentation/images.md): the magics of an image, then blocks. The file's key and the
/// block's number seal each block.
namespace criu::encrypted {

/// The list of files consists of blocks of the same size. The last block has another purpose in its nonce, so a
/// truncated list isn't taken for a complete one.
inline constexpr std::uint32_t kLastOfList = 1;
inline constexpr std::uint64_t kListFile = 0;

/// Returns the bytes before the first block.
[[nodiscard]] inline std::array<std::byte, 8> head() noexcept {
    const std::array<std::uint32_t, 2> magics{kCommonMagic, imageInfo(ImageKind::Encrypted).magic};
    std::array<std::byte, sizeof(magics)> bytes;
    std::memcpy(bytes.data(), magics.data(), bytes.size());
    return bytes;
}

/// Returns the associated data of a block: its offset in the file.
[[nodiscard]] inline std::array<std::byte, sizeof(std::uint64_t)> placeOf(std::uint64_t offset) noexcept {
    std::array<std::byte, sizeof(offset)> bytes;
    std::memcpy(bytes.data(), &offset, bytes.size());
    return bytes;
}

}  // namespace criu::encrypted
