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

/// Sets the members of `mm` that /proc shows: addresses of code, data, stack and arguments, and the auxiliary vector.
/// Adds the contexts of asynchronous I/O (io_setup(2)). Throws Error for an unknown form of context. `vmas`: all
/// mappings of the process.
void fillMemoryLayout(const FrozenTask& task, std::span<const VmaEntry* const> vmas, MmEntry& mm, Arena& arena);

}  // namespace criu::engine
