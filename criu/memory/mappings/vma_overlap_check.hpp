// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "images/mm.fwd.hpp"

namespace criu::memory {

/// VMA overlap check: throws Error if mappings of an image overlap, or if a mapping ends before it begins. A restore
/// calls it before it maps anything, because such a damaged image could replace memory of criu. Guard regions may
/// overlap mappings: each of them lies within a mapping.
void requireNoVmaOverlap(const MmEntry& mm);

}  // namespace criu::memory
