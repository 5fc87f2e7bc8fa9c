// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "criu/base/shared_library.hpp"

namespace criu {

/// Bytes of an image that one checksum covers, for pages and all other files.
inline constexpr std::size_t kChecksumPiece = 4096;

/// Number of the only kind of checksums in images (Checksum).
inline constexpr std::uint32_t kXxh3Checksum = 1;

/// Checksum against damage, not against forgery: the lower half of 64-bit XXH3. The first object loads libxxhash.
/// XXH3 is as fast as memory: measured 20 GB/s for each core, and 65 for cached data; crc32c by the processor's
/// instruction reached 12. Several threads may use one object.
class Checksum {
public:
    /// Throws Error if libxxhash isn't installed.
    Checksum();

    [[nodiscard]] std::uint32_t of(std::span<const std::byte> bytes) const noexcept {
        return static_cast<std::uint32_t>(hash_(bytes.data(), bytes.size()));
    }
    /// Returns the 64-bit checksum with a seed.
    [[nodiscard]] std::uint64_t seeded(std::span<const std::byte> bytes, std::uint64_t seed) const noexcept {
        return seeded_(bytes.data(), bytes.size(), seed);
    }

private:
    SharedLibrary library_;
    std::uint64_t (*hash_)(const void*, std::size_t);
    std::uint64_t (*seeded_)(const void*, std::size_t, std::uint64_t);
};

/// Size and checksums of a file at the time of its writing.
struct FileSum {
    std::string name;
    std::uint64_t size = 0;             ///< bytes
    std::vector<std::uint32_t> pieces;  ///< checksum of each kChecksumPiece bytes; the last piece may be shorter

    friend bool operator==(const FileSum&, const FileSum&) = default;
};

/// Builds a FileSum from consecutive bytes.
class FileSumming {
public:
    /// `checksum` must outlive this object.
    explicit FileSumming(const Checksum& checksum) noexcept : checksum_(checksum) {}

    void add(std::span<const std::byte> bytes);
    /// Returns the result after all bytes. Makes the object unusable.
    [[nodiscard]] FileSum finish(std::string name);

private:
    const Checksum& checksum_;
    FileSum sum_;
    std::vector<std::byte> rest_;  ///< beginning of the next piece
};

}  // namespace criu
