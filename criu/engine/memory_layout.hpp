// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "images/mm.fwd.hpp"

namespace criu {
class Arena;
}

namespace criu::engine {

struct FrozenTask;

/// Layout, arguments, auxiliary vector: the members of `mm` that /proc knows.
void fillMemoryLayout(const FrozenTask& task, MmEntry& mm, Arena& arena);

}  // namespace criu::engine
