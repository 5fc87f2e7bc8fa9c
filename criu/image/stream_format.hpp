// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "criu/image/checksum.hpp"

/// Format of a checkpoint as one stream of bytes (Documentation/images.md): a header, then records. Each record
/// contains the number of its file, so records of several files may alternate. Numbers are little-endian.
namespace criu::stream {

inline constexpr std::array<char, 8> kMagic{'C', 'R', 'I', 'U', 'S', 'T', 'R', '\n'};
inline constexpr std::uint32_t kVersion = 1;

/// Maximum bytes of a record's payload. A reader allocates memory for one record.
inline constexpr std::uint64_t kMostPayload = std::uint64_t{1} << 20;
/// Maximum number of files that are incomplete at the same time: the stream contains their Open record, but no Close
/// record yet.
inline constexpr std::size_t kMostOpen = 512;
/// Maximum size of a file in bytes.
inline constexpr std::uint64_t kLongestFile = std::uint64_t{1} << 62;

/// Header at the start of a stream.
struct Head {
    std::array<char, 8> magic = kMagic;
    std::uint32_t version = kVersion;
    std::uint32_t flags = 0;     ///< flags of the stream; must be 0
    std::uint64_t id = 0;        ///< random number, which is the seed of all checksums in the stream
    std::uint64_t checksum = 0;  ///< checksum of all fields before this field
};
static_assert(sizeof(Head) == 32);

enum class RecordType : std::uint32_t {
    Open = 1,   ///< begins a file; the payload is the file's name
    Data = 2,   ///< the payload is content of the file from `offset` on
    Close = 3,  ///< ends a file, which has `offset` bytes; ranges without Data are zeroes
    End = 4,    ///< ends the stream, which has `offset` files
};

/// Header of each record. The record's payload follows the header.
struct RecordHead {
    std::uint32_t type = 0;
    std::uint32_t file = 0;    ///< number of the file: the first Open record has 0, the next 1, and so on; 0 for End
    std::uint64_t number = 0;  ///< number of the record in the stream, from 0 on; a gap shows that a record is missing
    std::uint64_t offset = 0;  ///< offset or number; RecordType explains its meaning
    std::uint64_t size = 0;    ///< bytes of payload after this header
    std::uint64_t payloadChecksum = 0;
    std::uint64_t checksum = 0;  ///< checksum of all fields before this field
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
    /// Returns the checksum of a header without its last field, which contains this checksum.
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

/// Returns true if a stream may contain a file with this name. The name has only letters, digits, '.', '_' and '-',
/// doesn't begin with '.', and ends in ".img". So a received stream can't replace files other than images in a
/// directory.
[[nodiscard]] bool isFileName(std::string_view name) noexcept;

}  // namespace criu::stream
