// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace compel {

/// Blob: position-independent code with its constants and without relocations. It runs in any readable and executable
/// memory whose address is page-aligned. compel_add_blob() of CMake and `compel hgen` make blobs.
struct Blob {
    std::span<const std::byte> bytes;
    /// Offset of the entry code. The entry code calls the blob's `std::int64_t blob_entry(void* argument)` and then
    /// ends the run.
    std::uint64_t entryOffset = 0;
    /// Offset of the address at which the thread stops when a run has ended.
    std::uint64_t endOffset = 0;
};

}  // namespace compel
