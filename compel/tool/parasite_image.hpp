// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace compel {

/// Content of a blob of the C interface (compel-pack.lds.S).
struct ParasiteImage {
    struct Symbol {
        std::string name;
        std::uint64_t offset;
    };
    /// Eight bytes that are set to the blob's address plus `target`.
    struct Address {
        std::uint64_t offset;
        std::uint64_t target;
    };
    std::vector<std::byte> bytes;
    /// Offset of the writable part.
    std::uint64_t dataOffset = 0;
    /// Symbols that begin with __export_.
    std::vector<Symbol> symbols;
    std::vector<Address> addresses;
};

/// Parses such a blob. The file isn't trusted: malformed content, and relocations other than addresses, are Errors.
ParasiteImage parseParasite(std::span<const std::byte> file);

}  // namespace compel
