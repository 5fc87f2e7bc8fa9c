// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/memory/ranges.hpp"

namespace criu::memory {

/// All present mappings of the calling process, with the room its stack may still grow into.
RangeSet ownMappings();

}  // namespace criu::memory
