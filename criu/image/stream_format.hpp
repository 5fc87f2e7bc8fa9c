// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "criu/image/checksum.hpp"

/// Format of a checkpoint as one stream of bytes (Documentation/images.md): a header, then records. Each record
/// names its file, so several files may be in transit. Numbers are little-endian.
namespace criu::stream {

inline constexpr std::array<char, 8> kMagic{'C', 'R', 'I', 'U', 'S', 'T', 'R', '\n'};
inline constexpr std::uint32_t kVersion = 1;

/// Maximum payload of a record in bytes. A reader needs memory for one record.
inline constexpr std::uint64_t kMostPayload = std::uint64_t{1} << 20;
/// Maximum number of files that are open at the same time.
inline constexpr std::size_t kMostOpen = 512;
/// Maximum size of a file in bytes.
inline constexpr std::uint64_t kLongestFile = std::uint64_t{1} << 62;

/// Header of a stream.
struct Head {
    std::array<char, 8> magic = kMagic;
    std::uint32_t version = kVersion;
    std::uint32_t flags = 0;     ///< must be 0
    std::uint64_t id = 0;        ///< random number, the seed of all checksums of the stream
    std::uint64_t checksum = 0;  ///< checksum of the bytes before it
};
static_assert(sizeof(Head) == 32);

enum class RecordType : std::uint32_t {
    Open = 1,   ///< a file begins; the payload is its name
    Data = 2,   ///< the payload is its content at `offset`
    Close = 3,  ///< the file is complete with `offset` bytes; unsent ranges are zeroes
    End = 4,    ///< the stream ends after `offset` files
};

/// Header of a record.
struct RecordHead {
    std::uint32_t type = 0;
    std::uint32_t file = 0;    ///< index of the file in the order of Open records; 0 in End
    std::uint64_t number = 0;  ///< records count from 0, to detect a lost one
    std::uint64_t offset = 0;  ///< see RecordType
    std::uint64_t size = 0;    ///< bytes of payload
    std::uint64_t payloadChecksum = 0;
    std::uint64_t checksum = 0;  ///< checksum of the bytes before it
};
static_assert(sizeof(RecordHead) == 48);

/// Checksums of a stream: 64-bit XXH3 with the stream's id as seed. Several threads may use one object.
class Sums {
public:
    /// Throws Error if libxxhash isn't installed.
    Sums() = default;

    [[nodiscard]] std::uint64_t of(std::span<const std::byte> bytes, std::uint64_t id) const noexcept {
        return checksum_.seeded(bytes, id);
    }
    /// Returns the checksum of a header's bytes before its own checksum.
    [[nodiscard]] std::uint64_t of(const Head& head) const noexcept { return withoutLast(head, head.id); }
    [[nodiscard]] std::uint64_t of(const RecordHead& head, std::uint64_t id) const noexcept {
        return withoutLast(head, id);
    }

private:
    template <typename Struct>
    [[nodiscard]] std::uint64_t withoutLast(const Struct& head, std::uint64_t id) const noexcept {
        return of(std::as_bytes(std::span(&head, 1)).first(sizeof(head) - sizeof(head.checksum)), id);
    }

    Checksum checksum_;
};

/// True if a stream may contain a file with this name. It is one component of letters, digits, '.', '_' and '-',
/// doesn't begin with '.', and has the suffix of images. So a received stream replaces only images in a directory.
[[nodiscard]] bool isFileName(std::string_view name) noexcept;

}  // namespace criu::stream
