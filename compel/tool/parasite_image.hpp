// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace compel {

/// What a blob of the C interface (compel-pack.lds.S) holds.
struct ParasiteImage {
    struct Symbol {
        std::string name;
        std::uint64_t offset;
    };
    /// Eight bytes that become the blob's address plus `target`.
    struct Address {
        std::uint64_t offset;
        std::uint64_t target;
    };
    std::vector<std::byte> bytes;
    /// From here on it is writable.
    std::uint64_t dataOffset = 0;
    /// Those that begin with __export_.
    std::vector<Symbol> symbols;
    std::vector<Address> addresses;
};

/// Takes such a blob apart. The file isn't trusted: anything malformed, or that can't be moved to another address, is
/// an Error.
ParasiteImage parseParasite(std::span<const std::byte> file);

}  // namespace compel
