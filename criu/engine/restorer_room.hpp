// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>

#include "criu/memory/pages/ranges.hpp"
#include "images/core.fwd.hpp"
#include "images/mm.fwd.hpp"

namespace criu::engine {

/// Returns the most memory that the restorer's program and data of one process may need.
[[nodiscard]] std::uint64_t restorerDataRoom(const CoreEntry& core, const MmEntry& mm, std::size_t threads);

/// Throws Error if a dumped process has no free range for the restorer, because it couldn't be restored. Mappings in
/// `mm` are sorted by address.
void requireRestorerRoom(const CoreEntry& core, const MmEntry& mm, std::size_t threads);

/// Finds a range of `size` bytes below `limit` that is free both in the restored process and in the process of the
/// images. `mapped` has the mappings that the restored process was created with. Throws Error.
[[nodiscard]] memory::Range findRestorerArea(std::uint64_t size, std::uint64_t limit, const MmEntry& mm,
                                             const memory::RangeSet& mapped);

}  // namespace criu::engine
