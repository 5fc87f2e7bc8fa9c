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
    /// Relocation: libcompel sets the eight bytes at `offset` to the blob's address plus `target`.
    struct Address {
        std::uint64_t offset;
        std::uint64_t target;
    };
    std::vector<std::byte> bytes;
    /// Offset in bytes of the blob's writable part.
    std::uint64_t dataOffset = 0;
    /// Symbols whose names begin with __export_.
    std::vector<Symbol> symbols;
    std::vector<Address> addresses;
};

/// Parses a blob of the C interface, which isn't trusted. Throws Error for malformed content, and for relocations that
/// aren't addresses.
ParasiteImage parseParasite(std::span<const std::byte> file);

}  // namespace compel
