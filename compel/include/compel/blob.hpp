// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace compel {

/// Position-independent code with its constants, free of relocations. It runs at any page-aligned address that is
/// readable and executable. The CMake function compel_add_blob() or `compel hgen` makes it.
struct Blob {
    std::span<const std::byte> bytes;
    /// Offset of the start code. It calls the blob's `std::int64_t blob_entry(void* argument)`, then ends the run.
    std::uint64_t entryOffset = 0;
    /// Offset of the instruction pointer when a run has ended.
    std::uint64_t endOffset = 0;
};

}  // namespace compel
