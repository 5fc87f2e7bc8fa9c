// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "criu/base/crypto.hpp"
#include "criu/image/catalogue.hpp"

/// The form of encrypted-N.img (Documentation/images.md): the magics of an image, then blocks, each sealed with the
/// file's key and its own number.
namespace criu::encrypted {

/// The list of files is encrypted in blocks of the same size, of which the last one is of another purpose, so that one
/// that lacks its end isn't taken for a whole one.
inline constexpr std::uint32_t kLastOfList = 1;
inline constexpr std::uint64_t kListFile = 0;

/// In front of the first block.
[[nodiscard]] inline std::array<std::byte, 8> head() noexcept {
    const std::array<std::uint32_t, 2> magics{kCommonMagic, imageInfo(ImageKind::Encrypted).magic};
    std::array<std::byte, sizeof(magics)> bytes;
    std::memcpy(bytes.data(), magics.data(), bytes.size());
    return bytes;
}

/// What a block is sealed with besides its content: where that belongs.
[[nodiscard]] inline std::array<std::byte, sizeof(std::uint64_t)> placeOf(std::uint64_t offset) noexcept {
    std::array<std::byte, sizeof(offset)> bytes;
    std::memcpy(bytes.data(), &offset, bytes.size());
    return bytes;
}

}  // namespace criu::encrypted
