// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/mappings/vma_dump.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <bit>
#include <map>
#include <tuple>

#include "criu/base/refusals.hpp"
#include "criu/memory/mappings/mapping_kind.hpp"
#include "criu/memory/mappings/protection.hpp"
#include "criu/memory/mappings/vma_pages.hpp"
#include "images/mm.hpp"

namespace criu::memory {
namespace {

using kernel::Vma;
using kernel::VmFlag;

constexpr unsigned kMapHugeShift = 26;  // MAP_HUGE_SHIFT

/// Flags of mmap(2) that the VmFlags line of /proc/PID/smaps shows.
constexpr std::pair<VmFlag, std::uint32_t> kMapFlags[] = {
    {VmFlag::GrowsDown, MAP_GROWSDOWN},
    {VmFlag::Locked, MAP_LOCKED},
    {VmFlag::NoReserve, MAP_NORESERVE},
    {VmFlag::HugeTlb, MAP_HUGETLB},
};

/// Advice of madvise(2) that stays in effect and that the VmFlags line of /proc/PID/smaps shows.
constexpr std::pair<VmFlag, int> kAdvice[] = {
    {VmFlag::SequentialRead, MADV_SEQUENTIAL}, {VmFlag::RandomRead, MADV_RANDOM},     {VmFlag::DontCopy, MADV_DONTFORK},
    {VmFlag::DontDump, MADV_DONTDUMP},         {VmFlag::Mergeable, MADV_MERGEABLE},   {VmFlag::HugePage, MADV_HUGEPAGE},
    {VmFlag::NoHugePage, MADV_NOHUGEPAGE},     {VmFlag::WipeOnFork, MADV_WIPEONFORK},
};

/// Flags by which kinds claim a mapping or refuse it.
constexpr VmFlag kKindFlags[] = {
    VmFlag::UffdMissing,   VmFlag::UffdWriteProtect, VmFlag::UffdMinor, VmFlag::ShadowStack,
    VmFlag::MemoryTagging, VmFlag::HugeTlb,          VmFlag::Io,        VmFlag::PfnMap};

void addFlags(const Vma& vma, VmaEntry& entry) {
    for (const auto& [flag, value] : kMapFlags)
        if (vma.flags.has(flag))
            entry.flags |= value;
    if (vma.flags.has(VmFlag::LockOnFault)) {
        entry.has_lock_on_fault = 1;
        entry.lock_on_fault = 1;
    }
    if (vma.flags.has(VmFlag::BranchTargets))
        entry.prot |= static_cast<std::uint32_t>(kProtectBranchTargets);
    if (vma.flags.has(VmFlag::Sealed))
        entry.has_sealed = entry.sealed = 1;
    if (vma.flags.has(VmFlag::Droppable))
        entry.flags = (entry.flags & ~static_cast<std::uint32_t>(MAP_TYPE)) | kMapDroppable;
    if (vma.flags.has(VmFlag::HugeTlb))
        entry.flags |= static_cast<std::uint32_t>(std::countr_zero(vma.kernelPageSize)) << kMapHugeShift;
    for (const auto& [flag, advice] : kAdvice)
        if (vma.flags.has(flag))
            entry.madv |= std::uint64_t{1} << advice;
    entry.has_madv = entry.madv != 0;
}

class Converter {
public:
    Converter(const VmaDumpRules& rules, MappedFileDump& files, Arena& arena) : dump_(rules, files), arena_(arena) {}

    void add(const Vma& vma) {
        const MappingKind& kind = mappingKindOf(vma, dump_);
        if (kind.leavesOut(vma, dump_))
            return;
        if (!out_.vmas.empty() && kind.continues(*out_.vmas.back().entry, vma)) {
            out_.vmas.back().entry->end = vma.end;
            return;
        }
        VmaEntry& entry = *arena_.make<VmaEntry>();
        entry.start = vma.start;
        entry.end = vma.end;
        entry.pgoff = vma.pgoff;
        entry.prot = static_cast<std::uint32_t>(vma.prot);
        entry.flags = vma.shared ? MAP_SHARED : MAP_PRIVATE;
        entry.fd = -1;
        addFlags(vma, entry);
        kind.describe(vma, entry, dump_);
        out_.vmas.push_back({&entry, &vma});
    }

    DumpedMemory take() {
        out_.uprobes = dump_.sawUprobes;
        return std::move(out_);
    }

private:
    MappingDump dump_;
    Arena& arena_;
    DumpedMemory out_;
};

}  // namespace

DumpedMemory dumpVmas(std::span<const Vma> vmas, const VmaDumpRules& rules, MappedFileDump& files, Arena& arena) {
    Converter converter(rules, files, arena);
    for (const Vma& vma : vmas) {
        if (rules.refusals != nullptr)
            rules.refusals->attempt([&] { converter.add(vma); });
        else
            converter.add(vma);
    }
    return converter.take();
}

void addSmaps(DumpedMemory& memory) {
    for (const DumpedVma& vma : memory.vmas) {
        if (vma.source == nullptr)
            continue;
        const bool ofKernel = !is(*vma.entry, VmaStatus::Regular) || is(*vma.entry, VmaStatus::Vvar);
        for (const VmFlag flag : kKindFlags)
            if (vma.source->flags.has(flag) && !ofKernel)
                refuseMapping(*vma.source, "memory with properties that only /proc/PID/smaps shows");
        addFlags(*vma.source, *vma.entry);
        if (vma.entry->has_exclusive != 0)
            vma.entry->has_exclusive = vma.entry->exclusive = isExclusive(*vma.source);
    }
}

void DumpedMemory::fill(MmEntry& mm, Arena& arena) const {
    mm.n_vmas = vmas.size();
    mm.vmas = arena.array<VmaEntry*>(vmas.size());
    for (std::size_t at = 0; at < vmas.size(); ++at)
        mm.vmas[at] = vmas[at].entry;
}

}  // namespace criu::memory
