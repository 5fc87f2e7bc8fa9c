// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace criu::model {

/// Compression method of memory content. The values are those of pagemap_head.codec in images.
enum class PageCodec : std::uint8_t { None = 0, Lz4 = 1, Zstd = 2 };

struct PageCodecInfo {
    PageCodec codec;
    std::string_view name;  ///< value of --compress
    int mostLevel;          ///< highest value of --compress-level for this codec
};

/// Table of all codecs. criu/memory/pages/codec.cpp loads their libraries.
inline constexpr PageCodecInfo kPageCodecs[] = {
    {PageCodec::Lz4, "lz4", 65537},  // LZ4_ACCELERATION_MAX
    {PageCodec::Zstd, "zstd", 19},
};

/// Texts of --help for --compress and --compress-level.
inline constexpr std::string_view kPageCodecNames = "lz4|zstd";
inline constexpr std::string_view kPageCodecLevels =
    "zstd: 1 (fast) to 19 (small); lz4: 1 (small) to 65537 (fast) (default: 1)";

/// Returns the codec with the number of an image; nullptr if criu has no such codec.
[[nodiscard]] constexpr const PageCodecInfo* findPageCodec(std::uint32_t number) noexcept {
    const auto* const found = std::find_if(std::begin(kPageCodecs), std::end(kPageCodecs), [number](const auto& info) {
        return static_cast<std::uint32_t>(info.codec) == number;
    });
    return found == std::end(kPageCodecs) ? nullptr : found;
}

}  // namespace criu::model
