// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace compel {

/// What a linked blob (blob.lds) holds.
struct BlobImage {
    struct Symbol {
        std::string name;
        std::uint64_t offset;
    };
    std::vector<std::byte> bytes;
    std::uint64_t entryOffset = 0;
    std::uint64_t endOffset = 0;
    /// Global symbols with C names, by offset; start and end of the run aren't among them.
    std::vector<Symbol> symbols;
};

/// It is a blob that blob.lds has linked, and no other program. Throws as parseBlob() does.
bool isBlob(std::span<const std::byte> file);

/// Takes a linked blob apart. The file isn't trusted: anything malformed, relocated or left undefined is an Error.
BlobImage parseBlob(std::span<const std::byte> file);

}  // namespace compel
