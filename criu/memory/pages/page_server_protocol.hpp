// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

#include "criu/image/pagemap.hpp"
#include "criu/memory/shmem/memory_object.hpp"

/// Protocol of CRIU 4.2's page server over a stream socket. Headers of one form, in the machine's byte order, may be
/// followed by pages or get an answer. It contains no identity or version.
/// Two processes of this criu may add content connections (--connections). The first connection then only lists
/// pages. Content names its position itself, so that no connection waits for another. A server that doesn't know
/// PageCommand::Streams closes the connection.
namespace criu::memory {

enum class PageCommand : std::uint16_t {
    Add = 1,                ///< pages follow (older senders)
    Hole = 2,               ///< pages that the parent has (older senders)
    Open = 3,               ///< begins the next object and ends the previous one
    OpenAndTell = 4,        ///< as Open; the answer is a byte: 1 if the parent has the object
    Parent = 5,             ///< query if the parent has an object; the answer is an int32
    AddFlagged = 6,         ///< run of pages with PageFlags; the pages follow if they are present
    Get = 7,                ///< request for pages
    Close = 0x1023,         ///< end of all pages; the answer is an int32, 0 if all are stored
    CloseForGood = 0x1024,  ///< as Close, for a socket that stays open

    /// Requests `pages` content connections. Must come first. `address`: maximal number of pages files per object, or
    /// kFilesAsPaysOff.
    /// The answer is a header of this command with the granted number, and the connections' ticket in `object`. Later
    /// OpenAndTell contains the expected number of pages; bit 1 of its answer means that the object's content is in
    /// several files (kStripedPages).
    Streams = 4201,
    /// Begins a content connection with the ticket `object`.
    Join = 4202,
    /// Run of pages with PageFlags, whose content comes over content connections.
    AddApart = 4203,
    /// Content message: `pages` pages of an object follow, for position `address` (PageBlock). Positions ascend
    /// within a connection. Close ends the connection without an answer.
    Content = 4204,
    /// Makes the server encrypt its files. Must come first, followed by `pages` bytes of keys. The answer is an
    /// int32, 0.
    Encrypt = 4205,
};

/// Header of every message.
struct PageMessage {
    std::uint32_t word = 0;  ///< command in the low half, page flags in the high half
    std::uint32_t unused = 0;
    std::uint64_t pages = 0;
    std::uint64_t address = 0;
    std::uint64_t object = 0;  ///< id, with the kind of object in the low byte

    [[nodiscard]] PageCommand command() const noexcept { return static_cast<PageCommand>(word & 0xffff); }
    [[nodiscard]] std::uint32_t flags() const noexcept { return word >> 16; }
};
static_assert(sizeof(PageMessage) == 32);

constexpr std::uint32_t wordOf(PageCommand command, PageFlags flags = PageFlags::None) noexcept {
    return static_cast<std::uint32_t>(command) | static_cast<std::uint32_t>(flags) << 16;
}

/// Bits of the answer to OpenAndTell.
inline constexpr std::uint8_t kHasParent = 1;
inline constexpr std::uint8_t kInSeveralFiles = 2;

inline constexpr std::uint64_t kFilesAsPaysOff = ~std::uint64_t{0};

/// Maximal number of content connections, and of pages files per object, that a server grants.
inline constexpr unsigned kMostStreams = 64;

/// Convert between objects and their numbers in messages. objectOf() returns nullopt for an unknown kind.
[[nodiscard]] std::uint64_t objectNumber(const MemoryObject& object) noexcept;
[[nodiscard]] std::optional<MemoryObject> objectOf(std::uint64_t number) noexcept;

}  // namespace criu::memory
