// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace criu::memory {

/// How pages are compressed; the numbers are those of images (pagemap_head.codec).
enum class CodecKind : std::uint8_t { Lz4 = 1, Zstd = 2 };

/// Compresses and decompresses blocks by a library, which is loaded with the first object. Several threads may use one
/// at once.
class Codec {
public:
    virtual ~Codec() = default;
    Codec(const Codec&) = delete;
    Codec& operator=(const Codec&) = delete;

    /// `level`: for LZ4 how much faster than usual (1: as usual, with the smallest output), for zstd 1 to 19. Throws
    /// Error if the library isn't installed.
    [[nodiscard]] static std::unique_ptr<const Codec> load(CodecKind kind, int level = 1);

    /// Returns the bytes that it has written, or 0 if `to` isn't large enough.
    [[nodiscard]] virtual std::size_t compress(std::span<const std::byte> from, std::span<std::byte> to) const = 0;

    /// Throws Error unless `to` is filled exactly. `from` may be anything.
    virtual void decompress(std::span<const std::byte> from, std::span<std::byte> to) const = 0;

protected:
    Codec() = default;
};

}  // namespace criu::memory
