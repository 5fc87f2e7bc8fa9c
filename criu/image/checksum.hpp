// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "criu/base/shared_library.hpp"

namespace criu {

/// Number of bytes that one checksum covers, in all files.
inline constexpr std::size_t kChecksumPiece = 4096;

/// Number that denotes checksums of type Checksum in images. Images have no other checksums.
inline constexpr std::uint32_t kXxh3Checksum = 1;

/// Checksum that detects damage, but not forgery: the lower half of 64-bit XXH3. The constructor loads libxxhash.
/// Several threads may use one object. One processor computes 20 GB/s of XXH3, as fast as it reads memory, and 65 GB/s
/// for data in its cache. The crc32c instruction reaches 12 GB/s.
class Checksum {
public:
    /// Throws Error if libxxhash isn't installed.
    Checksum();

    [[nodiscard]] std::uint32_t of(std::span<const std::byte> bytes) const noexcept {
        return static_cast<std::uint32_t>(hash_(bytes.data(), bytes.size()));
    }
    /// Returns the 64-bit checksum of `bytes`, which depends on `seed`.
    [[nodiscard]] std::uint64_t seeded(std::span<const std::byte> bytes, std::uint64_t seed) const noexcept {
        return seeded_(bytes.data(), bytes.size(), seed);
    }

private:
    SharedLibrary library_;
    std::uint64_t (*hash_)(const void*, std::size_t);
    std::uint64_t (*seeded_)(const void*, std::size_t, std::uint64_t);
};

/// Size and checksums of a file's content at the time when criu wrote it.
struct FileSum {
    std::string name;
    std::uint64_t size = 0;             ///< size of the file in bytes
    std::vector<std::uint32_t> pieces;  ///< checksum of each kChecksumPiece bytes; the last piece may be shorter

    friend bool operator==(const FileSum&, const FileSum&) = default;
};

/// Object that computes a FileSum. The caller passes the bytes of a file in order.
class FileSumming {
public:
    /// `checksum` must outlive this object.
    explicit FileSumming(const Checksum& checksum) noexcept : checksum_(checksum) {}

    void add(std::span<const std::byte> bytes);
    /// Returns the size and the checksums of all added bytes. The object can't be used afterwards.
    [[nodiscard]] FileSum finish(std::string name);

private:
    const Checksum& checksum_;
    FileSum sum_;
    std::vector<std::byte> rest_;  ///< bytes of the last piece, which is incomplete
};

}  // namespace criu
