// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/memory/memory_layout.hpp"

#include <elf.h>

#include <vector>

#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/attributes.hpp"
#include "criu/memory/mappings/aio_ring.hpp"
#include "images/mm.hpp"

namespace criu::engine {

void fillMemoryLayout(const FrozenTask& task, std::span<const VmaEntry* const> vmas, MmEntry& mm, Arena& arena) {
    const kernel::TaskStat& stat = task.stat;
    mm.mm_start_code = stat.startCode;
    mm.mm_end_code = stat.endCode;
    mm.mm_start_data = stat.startData;
    mm.mm_end_data = stat.endData;
    mm.mm_start_stack = stat.startStack;
    mm.mm_start_brk = stat.startBrk;
    mm.mm_arg_start = stat.argStart;
    mm.mm_arg_end = stat.argEnd;
    mm.mm_env_start = stat.envStart;
    mm.mm_env_end = stat.envEnd;
    std::vector<std::uint64_t> auxv = kernel::readAuxv(task.dir);
    // Removes AT_NULL, which the kernel appends itself. Readers of images accept only a limited number of values.
    while (auxv.size() >= 2 && auxv[auxv.size() - 2] == AT_NULL)
        auxv.resize(auxv.size() - 2);
    mm.n_mm_saved_auxv = auxv.size();
    mm.mm_saved_auxv = arena.copy(std::span<const std::uint64_t>(auxv));
    memory::storeAioRings(task.actor(), vmas, mm, arena);
}

}  // namespace criu::engine
