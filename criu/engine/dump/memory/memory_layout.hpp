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

/// Sets members of `mm` that /proc shows: layout, arguments, auxiliary vector. Adds contexts of asynchronous I/O, whose
/// rings are among `vmas`; these are all mappings of the process. Throws Error for a ring of an unknown form.
void fillMemoryLayout(const FrozenTask& task, std::span<const VmaEntry* const> vmas, MmEntry& mm, Arena& arena);

}  // namespace criu::engine
