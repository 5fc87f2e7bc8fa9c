// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

#include "criu/image/pagemap.hpp"
#include "criu/memory/shmem/memory_object.hpp"

/// What CRIU 4.2 and its page server say to each other over a stream socket: headers of one form, in the byte order of
/// the machine, some followed by pages, some answered. Nothing says who speaks or which version.
///
/// Two of this criu may have connections for content besides (--connections). The first connection goes on to say which
/// pages there are; content says itself where it belongs, so that neither waits for the other. A server that doesn't
/// know the first of these commands closes the connection.
namespace criu::memory {

enum class PageCommand : std::uint16_t {
    Add = 1,                ///< pages follow (older senders)
    Hole = 2,               ///< pages that are in the parent (older senders)
    Open = 3,               ///< the next object, which ends the one before
    OpenAndTell = 4,        ///< the same; the answer is a byte: 1 if the parent has the object
    Parent = 5,             ///< asks whether the parent has an object; the answer is an int32
    AddFlagged = 6,         ///< a run of pages with PageFlags; the pages follow if they are present
    Get = 7,                ///< asks for pages
    Close = 0x1023,         ///< all was sent; the answer is an int32, 0 if all was stored
    CloseForGood = 0x1024,  ///< the same over a socket that stays open

    /// Asks for `pages` connections of content; `address` says how many pages files an object with much of it may get,
    /// or kFilesAsPaysOff. Comes first. The answer is a header with the same command, the number that the server agrees
    /// to, and in `object` the ticket of such connections. From then on OpenAndTell says how many pages are expected,
    /// and bit 1 of its answer, whether the object's content is in several files (kStripedPages).
    Streams = 4201,
    /// Begins a connection of content: `object` is its ticket.
    Join = 4202,
    /// A run of pages with PageFlags, whose content comes in connections of its own.
    AddApart = 4203,
    /// In those: `pages` pages of an object's content follow, from the position `address` in it on (PageBlock). In a
    /// connection positions ascend. Close ends it, without an answer.
    Content = 4204,
    /// Has the server encrypt what it stores. Comes before everything else, and is followed by `pages` bytes of keys.
    /// The answer is an int32, 0.
    Encrypt = 4205,
};

/// The header of every message.
struct PageMessage {
    std::uint32_t word = 0;  ///< the command, and above it the flags of pages
    std::uint32_t unused = 0;
    std::uint64_t pages = 0;
    std::uint64_t address = 0;
    std::uint64_t object = 0;  ///< its id, above a byte that says of what kind it is

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

/// Connections of content, and pages files of an object, that a server agrees to.
inline constexpr unsigned kMostStreams = 64;

/// Between objects and their numbers in messages; nothing for a kind that nobody knows.
[[nodiscard]] std::uint64_t objectNumber(const MemoryObject& object) noexcept;
[[nodiscard]] std::optional<MemoryObject> objectOf(std::uint64_t number) noexcept;

}  // namespace criu::memory
