// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>

#include "images/mm.fwd.hpp"

struct VmaEntry;

namespace criu {
class Arena;
}

namespace criu::engine {

struct FrozenTask;

/// Layout, arguments, auxiliary vector: the members of `mm` that /proc knows; and contexts of asynchronous I/O, whose
/// rings are among `vmas`, all mappings of the process. Throws Error if the memory of one isn't a ring as known here.
void fillMemoryLayout(const FrozenTask& task, std::span<const VmaEntry* const> vmas, MmEntry& mm, Arena& arena);

}  // namespace criu::engine
