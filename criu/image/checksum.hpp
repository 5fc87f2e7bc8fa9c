// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "criu/base/shared_library.hpp"

namespace criu {

/// Images have a checksum for each piece of this many bytes: those of pages and those of other files are alike.
inline constexpr std::size_t kChecksumPiece = 4096;

/// The number by which images call the one kind of checksums there is (Checksum).
inline constexpr std::uint32_t kXxh3Checksum = 1;

/// Checksums against damage, not against forgers: the lower half of XXH3 with 64 bits, by libxxhash, which is loaded
/// with the first object. It is as fast as memory (20 GB/s for each core, 65 for what is in its cache; crc32c by the
/// processor's instruction was seen to reach 12). Several threads may use one at once.
class Checksum {
public:
    /// Throws Error if the library isn't installed.
    Checksum();

    [[nodiscard]] std::uint32_t of(std::span<const std::byte> bytes) const noexcept {
        return static_cast<std::uint32_t>(hash_(bytes.data(), bytes.size()));
    }
    /// All 64 bits, which depend on a seed as well.
    [[nodiscard]] std::uint64_t seeded(std::span<const std::byte> bytes, std::uint64_t seed) const noexcept {
        return seeded_(bytes.data(), bytes.size(), seed);
    }

private:
    SharedLibrary library_;
    std::uint64_t (*hash_)(const void*, std::size_t);
    std::uint64_t (*seeded_)(const void*, std::size_t, std::uint64_t);
};

/// What a file was when it was written.
struct FileSum {
    std::string name;
    std::uint64_t size = 0;             ///< bytes
    std::vector<std::uint32_t> pieces;  ///< checksum of each kChecksumPiece bytes; the last piece may be shorter

    friend bool operator==(const FileSum&, const FileSum&) = default;
};

/// Makes a FileSum of bytes that come bit by bit.
class FileSumming {
public:
    /// `checksum` outlives this object.
    explicit FileSumming(const Checksum& checksum) noexcept : checksum_(checksum) {}

    void add(std::span<const std::byte> bytes);
    /// All bytes have come. The object is used up.
    [[nodiscard]] FileSum finish(std::string name);

private:
    const Checksum& checksum_;
    FileSum sum_;
    std::vector<std::byte> rest_;  ///< the beginning of a piece
};

}  // namespace criu
