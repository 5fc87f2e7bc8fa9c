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
    /// Global symbols with C names, sorted by offset. Doesn't contain the symbols of blob_start.S.
    std::vector<Symbol> symbols;
};

/// Returns true for a blob that was linked with blob.lds, and false for another program. Throws Error for malformed
/// files, like parseBlob().
bool isBlob(std::span<const std::byte> file);

/// Parses a linked blob, which isn't trusted. Throws Error for malformed content, relocations and undefined symbols.
BlobImage parseBlob(std::span<const std::byte> file);

}  // namespace compel
