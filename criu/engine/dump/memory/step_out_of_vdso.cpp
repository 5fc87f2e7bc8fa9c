// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/memory/step_out_of_vdso.hpp"

#include <algorithm>

#include "criu/base/log.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/kernel/mm/maps.hpp"

namespace criu::engine {

void stepOutOfVdso(FrozenTask& task, std::span<const kernel::Vma> vmas, Log& log) {
    const auto code =
        std::find_if(vmas.begin(), vmas.end(), [](const kernel::Vma& vma) { return vma.name == "[vdso]"; });
    if (code == vmas.end() || (task.status.ignored & compel::signalBit(SIGTRAP)) != 0)
        return;
    for (compel::FrozenThread& thread : task.process->threads())
        if (!thread.tracee.leaveCode(code->start, code->end))
            log.debug("Thread {} stays inside the code of the vDSO", thread.tracee.tid());
}

}  // namespace criu::engine
