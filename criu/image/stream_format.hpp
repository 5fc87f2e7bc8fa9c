// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "criu/image/checksum.hpp"

/// The form in which a checkpoint is one stream of bytes (Documentation/images.md): a header, then records, of which
/// each says which file it belongs to, so that many files may be under way at once. Numbers are little-endian, as all
/// machines are that criu runs on.
namespace criu::stream {

inline constexpr std::array<char, 8> kMagic{'C', 'R', 'I', 'U', 'S', 'T', 'R', '\n'};
inline constexpr std::uint32_t kVersion = 1;

/// The most bytes that a record carries. A reader needs memory for one record.
inline constexpr std::uint64_t kMostPayload = std::uint64_t{1} << 20;
/// The most files that may be open at once.
inline constexpr std::size_t kMostOpen = 512;
/// No file is longer.
inline constexpr std::uint64_t kLongestFile = std::uint64_t{1} << 62;

/// In front of all.
struct Head {
    std::array<char, 8> magic = kMagic;
    std::uint32_t version = kVersion;
    std::uint32_t flags = 0;     ///< none is defined
    std::uint64_t id = 0;        ///< a random number, which all checksums of the stream depend on
    std::uint64_t checksum = 0;  ///< of what is before it
};
static_assert(sizeof(Head) == 32);

enum class RecordType : std::uint32_t {
    Open = 1,   ///< a file begins; the payload is its name
    Data = 2,   ///< the payload is its content at `offset`
    Close = 3,  ///< it is complete, and `offset` bytes long; what didn't come is zeroes
    End = 4,    ///< all files are complete, and `offset` is how many there were. Nothing follows
};

/// In front of each payload.
struct RecordHead {
    std::uint32_t type = 0;
    std::uint32_t file = 0;    ///< files count from 0 in the order in which they begin; 0 in End
    std::uint64_t number = 0;  ///< records count from 0, so that a lost one is noticed
    std::uint64_t offset = 0;  ///< see RecordType
    std::uint64_t size = 0;    ///< bytes of payload
    std::uint64_t payloadChecksum = 0;
    std::uint64_t checksum = 0;  ///< of what is before it
};
static_assert(sizeof(RecordHead) == 48);

/// The checksums of streams: XXH3 with 64 bits and the stream's id as its seed. Several threads may use one object.
class Sums {
public:
    /// Throws Error if the library for that isn't installed.
    Sums() = default;

    [[nodiscard]] std::uint64_t of(std::span<const std::byte> bytes, std::uint64_t id) const noexcept {
        return checksum_.seeded(bytes, id);
    }
    /// Of all of a head that comes before its own checksum.
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

/// Whether a file may have such a name: one component of letters, digits, '.', '_' and '-', not beginning with '.',
/// that ends as all images do. So a stream that is put into a directory replaces nothing else there.
[[nodiscard]] bool isFileName(std::string_view name) noexcept;

}  // namespace criu::stream
