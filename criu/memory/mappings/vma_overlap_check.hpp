// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "images/mm.fwd.hpp"

namespace criu::memory {

/// VMA overlap check: throws Error if mappings of an image overlap, or end before they begin. It precedes any
/// mapping, because such a damaged image could cover criu's own memory. Guard regions lie within mappings and are
/// allowed.
void requireNoVmaOverlap(const MmEntry& mm);

}  // namespace criu::memory
