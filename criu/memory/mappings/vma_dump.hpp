// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/memory/mappings/mapped_file_dump.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "images/mm.fwd.hpp"

namespace criu {
class Refusals;
}

/// Conversion of the mappings in /proc/PID/smaps to image entries.
namespace criu::memory {

struct VmaDumpRules {
    /// Device numbers of the kernel's internal tmpfs, which contains memfds and shared anonymous memory
    /// (SegmentsDump::device()).
    std::uint32_t shmemMajor = 0;
    std::uint32_t shmemMinor = 0;
    bool allowUprobes = false;
    /// Collector for errors of single mappings; null if the first error is thrown.
    Refusals* refusals = nullptr;

    [[nodiscard]] bool isKernelTmpfs(const kernel::Vma& vma) const noexcept {
        return vma.devMajor == shmemMajor && vma.devMinor == shmemMinor;
    }
};

struct DumpedVma {
    VmaEntry* entry = nullptr;
    /// Mapping of the process; null for guard regions. One entry may stand for several data mappings of the vDSO; this
    /// is then the first of them.
    const kernel::Vma* source = nullptr;
};

/// Image entries for the mappings of one process.
struct DumpedMemory {
    std::vector<DumpedVma>
        vmas;              ///< entries of mappings in ascending order of addresses; entries of guard regions follow
    bool uprobes = false;  ///< true if the process has an uprobes area, which images omit

    /// Sets mm.vmas. Must follow dumpPages(), because that function adds the guard regions.
    void fill(MmEntry& mm, Arena& arena) const;
};

/// Converts the mappings of one process (readSmaps()) without changing the process. `vmas` must outlive the result.
/// Throws Error if criu can't dump a mapping.
DumpedMemory dumpVmas(std::span<const kernel::Vma> vmas, const VmaDumpRules& rules, MappedFileDump& files,
                      Arena& arena);

/// Adds data of smaps to entries that dumpVmas() has made of /proc/PID/maps. Call it when the sources of the entries
/// have the fields of smaps. Throws Error if smaps shows a mapping that dumpVmas() would refuse, or whose kind it would
/// have chosen by flags.
void addSmaps(DumpedMemory& memory);

}  // namespace criu::memory
