// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

#include "criu/image/pagemap.hpp"
#include "criu/memory/shmem/memory_object.hpp"

/// Protocol of CRIU 4.2's page server on a stream socket. Each message is a header in the machine's byte order. Pages
/// or a reply may follow it. The protocol contains no credentials and no version.
///
/// Two processes of this criu may add content connections (--connections). The first connection then only lists pages.
/// Each content message contains its position, so that no connection waits for another. A server that doesn't support
/// PageCommand::Streams closes the connection.
namespace criu::memory {

enum class PageCommand : std::uint16_t {
    Add = 1,                ///< run of pages, whose content follows (sent by older versions of CRIU)
    Hole = 2,               ///< run of pages that the parent has (sent by older versions of CRIU)
    Open = 3,               ///< beginning of the next object, and end of the previous one
    OpenAndTell = 4,        ///< like Open, but with a reply of one byte: 1 if the parent has the object
    Parent = 5,             ///< query whether the parent has an object; the reply is an int32
    AddFlagged = 6,         ///< run of pages with PageFlags; the content follows if the pages are present
    Get = 7,                ///< request for pages
    Close = 0x1023,         ///< end of all pages; the reply is an int32, which is 0 if all pages are stored
    CloseForGood = 0x1024,  ///< like Close, but the socket stays open

    /// Request for `pages` content connections, which must be the first message. `address`: maximum number of pages
    /// files per object, or kFilesAsPaysOff.
    /// The reply is a header with this command, the granted number of connections, and the ticket of the connections in
    /// `object`. A later OpenAndTell contains the expected number of pages. Bit 1 of its reply means that the object's
    /// content is in several files (kStripedPages).
    Streams = 4201,
    /// First message of a content connection; `object` is the ticket.
    Join = 4202,
    /// Run of pages with PageFlags. The content follows on content connections.
    AddApart = 4203,
    /// Content of `pages` pages of an object, for the position `address` (PageBlock). Positions ascend within a
    /// connection. Close ends the connection without a reply.
    Content = 4204,
    /// Request that the server encrypts its files, which must be the first message. `pages` bytes of keys follow. The
    /// reply is the int32 0.
    Encrypt = 4205,
};

/// Header of every message of the page server protocol.
struct PageMessage {
    std::uint32_t word = 0;  ///< PageCommand in the low half, PageFlags in the high half
    std::uint32_t unused = 0;
    std::uint64_t pages = 0;
    std::uint64_t address = 0;
    std::uint64_t object = 0;  ///< id of the object; the low byte is the kind of the object

    [[nodiscard]] PageCommand command() const noexcept { return static_cast<PageCommand>(word & 0xffff); }
    [[nodiscard]] std::uint32_t flags() const noexcept { return word >> 16; }
};
static_assert(sizeof(PageMessage) == 32);

constexpr std::uint32_t wordOf(PageCommand command, PageFlags flags = PageFlags::None) noexcept {
    return static_cast<std::uint32_t>(command) | static_cast<std::uint32_t>(flags) << 16;
}

/// Bits of the reply to OpenAndTell. kHasParent: the parent has the object. kInSeveralFiles: see PageCommand::Streams.
inline constexpr std::uint8_t kHasParent = 1;
inline constexpr std::uint8_t kInSeveralFiles = 2;

inline constexpr std::uint64_t kFilesAsPaysOff = ~std::uint64_t{0};

/// Maximum number of content connections, and of pages files per object, that a server grants.
inline constexpr unsigned kMostStreams = 64;

/// Convert between objects and their numbers in messages. objectOf() returns nullopt for an unknown kind of object.
[[nodiscard]] std::uint64_t objectNumber(const MemoryObject& object) noexcept;
[[nodiscard]] std::optional<MemoryObject> objectOf(std::uint64_t number) noexcept;

}  // namespace criu::memory
