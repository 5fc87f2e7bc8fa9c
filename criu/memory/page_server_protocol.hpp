// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

#include "criu/image/pagemap.hpp"
#include "criu/memory/memory_object.hpp"

/// What CRIU 4.2 and its page server say to each other over a stream socket: headers of one form, in the byte order of
/// the machine, some followed by pages, some answered. Nothing says who speaks or which version.
namespace criu::memory {

enum class PageCommand : std::uint16_t {
    Add = 1,               ///< pages follow (older senders)
    Hole = 2,              ///< pages that are in the parent (older senders)
    Open = 3,              ///< the next object, which ends the one before
    OpenAndTell = 4,       ///< the same; the answer is a byte: 1 if the parent has the object
    Parent = 5,            ///< asks whether the parent has an object; the answer is an int32
    AddFlagged = 6,        ///< a run of pages with PageFlags; the pages follow if they are present
    Get = 7,               ///< asks for pages
    Close = 0x1023,        ///< all was sent; the answer is an int32, 0 if all was stored
    CloseForGood = 0x1024  ///< the same over a socket that stays open
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

/// Between objects and their numbers in messages; nothing for a kind that nobody knows.
[[nodiscard]] std::uint64_t objectNumber(const MemoryObject& object) noexcept;
[[nodiscard]] std::optional<MemoryObject> objectOf(std::uint64_t number) noexcept;

}  // namespace criu::memory
