// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/memory/pages/ranges.hpp"

namespace criu::memory {

/// Returns all current mappings of the calling process, with the addresses that its stack may still grow into.
RangeSet ownMappings();

/// Converts the heap of the calling process to huge pages. fork(2) then copies one entry instead of 512 per huge
/// page, and munmap(2) in the child drops one. Costs about one copy of the heap. Does nothing if the heap is small or
/// the kernel can't (MADV_COLLAPSE, Linux 6.1).
void makeHeapHuge();

}  // namespace criu::memory
