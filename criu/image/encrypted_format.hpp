// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "criu/base/crypto/crypto.hpp"
#include "criu/image/catalogue.hpp"

/// Format of encrypted-N.img (Documentation/images.md): the magics of an image, then encrypted blocks. The key of a
/// block is the key of its file. The nonce of a block is its number.
namespace criu::encrypted {

/// Part of a nonce that marks the last block of encrypted-0.img, the list of all other files. Earlier blocks have 0
/// there, so criu detects that the end of the list is missing.
inline constexpr std::uint32_t kLastOfList = 1;
inline constexpr std::uint64_t kListFile = 0;

/// Returns the bytes of an encrypted file that precede the first block.
[[nodiscard]] inline std::array<std::byte, 8> head() noexcept {
    const std::array<std::uint32_t, 2> magics{kCommonMagic, imageInfo(ImageKind::Encrypted).magic};
    std::array<std::byte, sizeof(magics)> bytes;
    std::memcpy(bytes.data(), magics.data(), bytes.size());
    return bytes;
}

/// Returns the data that criu authenticates with a block: the block's offset in the decrypted file.
[[nodiscard]] inline std::array<std::byte, sizeof(std::uint64_t)> placeOf(std::uint64_t offset) noexcept {
    std::array<std::byte, sizeof(offset)> bytes;
    std::memcpy(bytes.data(), &offset, bytes.size());
    return bytes;
}

}  // namespace criu::encrypted
