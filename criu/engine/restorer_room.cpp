// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restorer_room.hpp"

#include <sys/mman.h>

#include <compel/blob_run.hpp>
#include <compel/registers.hpp>

#include <algorithm>
#include <cerrno>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/image/record.hpp"
#include "criu/memory/mappings/own_mappings.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/program.hpp"
#include "criu/task/registers.hpp"
#include "images/core.hpp"
#include "images/mm.hpp"

namespace criu::engine {
namespace {

constexpr std::uint64_t kRoomPerThread = 16384;
constexpr std::uint64_t kAreaBase = 0x10000000;
/// Lowest address of the restorer. The kernel forbids mappings of the first pages (vm.mmap_min_addr).
constexpr std::uint64_t kLowestArea = 0x100000;

std::size_t signalsOf(const SignalQueueEntry* queue) {
    return queue != nullptr ? queue->n_signals : 0;
}

/// Returns true if this process has no mapping in the range.
bool isFree(std::uint64_t at, std::size_t size) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    void* const got = ::mmap(reinterpret_cast<void*>(at), size, PROT_NONE, kFlags, -1, 0);
    if (got == MAP_FAILED)
        return false;
    sys(::munmap(got, size), "unmap {} bytes at {:#x}", size, at);
    return true;
}

}  // namespace

StandbyRoom::StandbyRoom() noexcept
    : stack(compel::Registers::belowStack + compel::signalFrameRoom() + pie::kStackSize),
      frame(compel::Registers::belowStack + compel::signalFrameRoom()) {}

std::uint64_t restorerDataRoom(const CoreEntry& core, const MmEntry& mm, std::size_t threads) {
    // Size that is surely enough for a 64-bit task; such a task has plenty of addresses. Only 32-bit tasks need an
    // exact calculation.
    constexpr std::uint64_t kPlenty = std::uint64_t{32} << 20;
    constexpr std::uint64_t kForAny = std::uint64_t{1} << 20;
    constexpr std::uint64_t kPerMapping = 640;  // bytes for the at most eight steps that one mapping needs
    constexpr std::uint64_t kPerTimer = 512;
    constexpr std::uint64_t kPerSignal = 512;
    std::uint64_t room = kPlenty;
    if (task::isCompat(core)) {
        const std::uint64_t timers = core.tc->timers != nullptr ? core.tc->timers->n_posix : 0;
        const std::uint64_t signals = signalsOf(core.tc->signals_s) + signalsOf(core.thread_core->signals_p);
        room = kForAny + kPerMapping * mm.n_vmas + kPerTimer * timers + kPerSignal * signals;
    }
    return pageAlignUp(room + std::max<std::uint64_t>(kRoomPerThread, StandbyRoom().all()) * threads);
}

void requireRestorerRoom(const CoreEntry& core, const MmEntry& mm, std::size_t threads) {
    const std::uint64_t limit = task::isCompat(core) ? compatTaskSize() : taskSize();
    const std::uint64_t wanted = restorerDataRoom(core, mm, threads) + pageAlignUp(pie::interpreterBlob().bytes.size());
    std::uint64_t next = kLowestArea;
    for (const VmaEntry* const vma : list(mm.vmas, mm.n_vmas)) {
        if (vma->start >= next && std::min(vma->start, limit) - next >= wanted)
            return;
        next = std::max(next, vma->end);
        if (next >= limit)
            break;
    }
    if (next < limit && limit - next >= wanted)
        return;
    Error error(ENOMEM,
                fmt::format("its memory leaves nowhere {} bytes free, which a restore needs beside it", wanted));
    error.addHint("have it unmap something");
    throw error;
}

memory::Range findRestorerArea(std::uint64_t size, std::uint64_t limit, const MmEntry& mm,
                               const memory::RangeSet& mapped) {
    const auto holeBeside = [&](memory::RangeSet avoid) {
        for (const VmaEntry* vma : list(mm.vmas, mm.n_vmas))
            if (vma->start < taskSize())
                avoid.add({vma->start, vma->end});
        const auto hole = avoid.findHole(size, kAreaBase, limit);
        return hole ? hole : avoid.findHole(size, kLowestArea, limit);
    };
    // Tries the range with mmap(2), because `mapped` may be out of date. Reads /proc/self/maps only if the range isn't
    // free, because reading takes much longer.
    auto hole = holeBeside(mapped);
    if (!hole || !isFree(*hole, size))
        hole = holeBeside(memory::ownMappings());
    if (!hole)
        fail("no room of {} bytes for the restorer beside the memory of the process", size);
    return {*hole, *hole + size};
}

}  // namespace criu::engine
