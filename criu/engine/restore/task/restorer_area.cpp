// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/task/restorer_area.hpp"

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/image/record.hpp"
#include "criu/memory/pages/ranges.hpp"
#include "criu/pie/enter.hpp"
#include "images/mm.hpp"

namespace criu::engine {
namespace {

std::uint64_t codeSize() {
    return pageAlignUp(pie::interpreterBlob().bytes.size());
}

}  // namespace

RestorerAreas::RestorerAreas(const RestoreControl& control) : controlSize_(control.size()) {
    for (const AreaSlot& slot : control.areas())
        if (!slots_.emplace(slot.pid, slot).second)
            fail("process {} has told twice where its restorer is", slot.pid);
}

compel::InjectedMemory RestorerAreas::of(const model::Task& task) const {
    const auto found = slots_.find(task.pid);
    if (found == slots_.end())
        fail("didn't say where its restorer is");
    const AreaSlot& slot = found->second;
    const auto aligned = [](std::uint64_t at) { return at == pageAlignUp(at); };
    const bool ordered = slot.start < slot.data && slot.data < slot.end && slot.end <= taskSize();
    if (!ordered || !aligned(slot.start) || !aligned(slot.data) || !aligned(slot.end) ||
        slot.data - slot.start < codeSize() + machinePageSize() + controlSize_)
        fail("its restorer can't be at {:#x} to {:#x}", slot.start, slot.end);
    const MmEntry& mm = **task.mm;
    for (const VmaEntry* const vma : list(mm.vmas, mm.n_vmas))
        if (vma->start < slot.end && slot.start < vma->end)
            fail("its restorer, at {:#x} to {:#x}, is in the way of its memory", slot.start, slot.end);
    return {slot.start, slot.data, slot.end - slot.data};
}

std::uint64_t commitWordAt(const compel::InjectedMemory& area) noexcept {
    return area.code + codeSize();
}

void requireParked(const compel::FrozenProcess& process, const compel::InjectedMemory& area) {
    for (const compel::FrozenThread& thread : process.threads()) {
        const std::uint64_t at = thread.tracee.registers().ip();
        if (at < area.code || at >= area.code + codeSize())
            fail("thread {} isn't where it should wait for criu, but at {:#x}", thread.tracee.tid(), at);
    }
}

}  // namespace criu::engine
