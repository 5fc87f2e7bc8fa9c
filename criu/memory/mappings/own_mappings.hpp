// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/memory/pages/ranges.hpp"

namespace criu::memory {

/// Returns all current mappings of the calling process, and the addresses into which its stack may still grow.
RangeSet ownMappings();

}  // namespace criu::memory
