// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/memory/pages/ranges.hpp"

namespace criu::memory {

/// Returns all current mappings of the calling process, and the addresses into which its stack may still grow.
RangeSet ownMappings();

/// Converts the heap of the calling process to huge pages. For each huge page, fork(2) copies one page table entry
/// instead of 512, and munmap(2) in the child removes one. The conversion costs about as much as one copy of the heap.
/// Does nothing if the heap is small or the kernel lacks MADV_COLLAPSE (Linux 6.1).
void makeHeapHuge();

}  // namespace criu::memory
