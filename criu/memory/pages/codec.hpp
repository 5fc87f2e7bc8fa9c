// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "criu/model/page_codec.hpp"

namespace criu::memory {

/// Compressor and decompressor of blocks. load() loads the shared library of the codec. Thread-safe.
class Codec {
public:
    virtual ~Codec() = default;
    Codec(const Codec&) = delete;
    Codec& operator=(const Codec&) = delete;

    /// Loads the shared library of a codec. `level`: for LZ4 the acceleration (1 gives the smallest output), for zstd 1
    /// to 19. Throws Error if the library isn't installed.
    [[nodiscard]] static std::unique_ptr<const Codec> load(model::PageCodec codec, int level = 1);

    /// Compresses `from`. Returns the number of bytes written to `to`, or 0 if `to` is too small.
    [[nodiscard]] virtual std::size_t compress(std::span<const std::byte> from, std::span<std::byte> to) const = 0;

    /// Decompresses untrusted data. Throws Error unless the result fills `to` exactly.
    virtual void decompress(std::span<const std::byte> from, std::span<std::byte> to) const = 0;

protected:
    Codec() = default;
};

}  // namespace criu::memory
