// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace compel {

/// Content of a linked blob (blob.lds).
struct BlobImage {
    struct Symbol {
        std::string name;
        std::uint64_t offset;
    };
    std::vector<std::byte> bytes;
    std::uint64_t entryOffset = 0;
    std::uint64_t endOffset = 0;
    /// Global symbols with C names, by offset, without start and end of the run.
    std::vector<Symbol> symbols;
};

/// True for a blob that was linked with blob.lds, false for any other program. Throws as parseBlob() does.
bool isBlob(std::span<const std::byte> file);

/// Parses a linked blob. The file isn't trusted: malformed content, relocations and undefined symbols are Errors.
BlobImage parseBlob(std::span<const std::byte> file);

}  // namespace compel
