// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/memory/pages/ranges.hpp"

namespace criu::memory {

/// All present mappings of the calling process, with the room its stack may still grow into.
RangeSet ownMappings();

/// Makes the heap of the calling process cheap to inherit: of a huge page fork(2) copies one entry, and munmap(2) in
/// the child takes off one, instead of 512. Costs about as much as copying that memory once. Only an attempt: nothing
/// happens if there is little of it, or the kernel can't (MADV_COLLAPSE, Linux 6.1).
void makeHeapHuge();

}  // namespace criu::memory
