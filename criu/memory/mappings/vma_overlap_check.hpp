// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "images/mm.fwd.hpp"

namespace criu::memory {

/// Images that say that a process has two mappings at the same addresses, or one that ends before it begins, are
/// damaged: Throws Error, before anything is made of what would cover other memory, criu's own among it. Guard regions
/// lie within mappings.
void requireNoVmaOverlap(const MmEntry& mm);

}  // namespace criu::memory
