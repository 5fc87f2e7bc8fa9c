// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/stream_format.hpp"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace criu::stream {
namespace {

template <typename Struct>
std::uint64_t withoutLast(const Struct& head, std::uint64_t id) noexcept {
    return checksumOf(std::as_bytes(std::span(&head, 1)).first(sizeof(head) - sizeof(head.checksum)), id);
}

}  // namespace

std::uint64_t checksumOf(std::span<const std::byte> bytes, std::uint64_t id) noexcept {
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), id);
}

std::uint64_t checksumOf(const Head& head) noexcept {
    return withoutLast(head, head.id);
}

std::uint64_t checksumOf(const RecordHead& head, std::uint64_t id) noexcept {
    return withoutLast(head, id);
}

bool isFileName(std::string_view name) noexcept {
    constexpr std::size_t kLongest = 255;
    const auto good = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
               c == '-';
    };
    return !name.empty() && name.size() <= kLongest && name.front() != '.' && name.ends_with(".img") &&
           std::all_of(name.begin(), name.end(), good);
}

}  // namespace criu::stream
