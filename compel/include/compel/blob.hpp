// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace compel {

/// Position-independent code with its constants, free of relocations: may be copied to any page-aligned address,
/// readable and executable, and runs there. Made by the CMake function compel_add_blob() or `compel hgen`.
struct Blob {
    std::span<const std::byte> bytes;
    /// Where it starts: calls the blob's `std::int64_t blob_entry(void* argument)`, then ends the run.
    std::uint64_t entryOffset = 0;
    /// Where the thread stands when a run has ended.
    std::uint64_t endOffset = 0;
};

}  // namespace compel
