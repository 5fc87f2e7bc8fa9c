// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "criu/base/crypto.hpp"
#include "criu/image/catalogue.hpp"

/// Format of encrypted-N.img (Documentation/images.md): the magics of an image, then encrypted blocks. Each block is
/// encrypted with the key of its file, and with its number as nonce.
namespace criu::encrypted {

/// Part of the nonce of the last block of encrypted-0.img, which lists the other files. Other blocks have 0 there, so
/// criu detects a truncated list.
inline constexpr std::uint32_t kLastOfList = 1;
inline constexpr std::uint64_t kListFile = 0;

/// Returns the bytes of an encrypted file that precede the first block.
[[nodiscard]] inline std::array<std::byte, 8> head() noexcept {
    const std::array<std::uint32_t, 2> magics{kCommonMagic, imageInfo(ImageKind::Encrypted).magic};
    std::array<std::byte, sizeof(magics)> bytes;
    std::memcpy(bytes.data(), magics.data(), bytes.size());
    return bytes;
}

/// Returns the associated data of a block's encryption: the block's offset in the decrypted file.
[[nodiscard]] inline std::array<std::byte, sizeof(std::uint64_t)> placeOf(std::uint64_t offset) noexcept {
    std::array<std::byte, sizeof(offset)> bytes;
    std::memcpy(bytes.data(), &offset, bytes.size());
    return bytes;
}

}  // namespace criu::encrypted
