// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>

#include "criu/memory/pages/ranges.hpp"
#include "images/core.fwd.hpp"
#include "images/mm.fwd.hpp"

namespace criu::engine {

/// How much memory the restorer's program of a process and its data may take at most.
[[nodiscard]] std::uint64_t restorerDataRoom(const CoreEntry& core, const MmEntry& mm, std::size_t threads);

/// For a dump. Throws Error if that much is nowhere free beside the memory of the process, whose mappings are in the
/// order of their addresses: it couldn't be restored.
void requireRestorerRoom(const CoreEntry& core, const MmEntry& mm, std::size_t threads);

/// For a restored process: room of `size` bytes below `limit` in which neither it nor the process of the images has
/// anything. `mapped`: what it was born with. Throws Error.
[[nodiscard]] memory::Range findRestorerArea(std::uint64_t size, std::uint64_t limit, const MmEntry& mm,
                                             const memory::RangeSet& mapped);

}  // namespace criu::engine
