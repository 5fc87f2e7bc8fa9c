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

/// Dump half of mappings: from what the kernel shows of them to what images say.
namespace criu::memory {

struct VmaDumpRules {
    /// Device of the kernel's own tmpfs, where memfds and shared anonymous memory live (SegmentsDump::device()).
    std::uint32_t shmemMajor = 0;
    std::uint32_t shmemMinor = 0;
    bool allowUprobes = false;

    [[nodiscard]] bool isKernelTmpfs(const kernel::Vma& vma) const noexcept {
        return vma.devMajor == shmemMajor && vma.devMinor == shmemMinor;
    }
};

struct DumpedVma {
    VmaEntry* entry = nullptr;
    const kernel::Vma* source = nullptr;  ///< null for guard regions; the first one of merged data pages of the vDSO
};

/// Mappings of one process as images have them.
struct DumpedMemory {
    std::vector<DumpedVma> vmas;  ///< by address; guard regions, which aren't mappings, behind the last
    bool uprobes = false;         ///< there was an area of uprobes; it isn't in the list

    /// Sets mm.vmas. After dumpPages(), which finds the guard regions.
    void fill(MmEntry& mm, Arena& arena) const;
};

/// Converts the mappings of one process (readSmaps()). `vmas` must outlive the result. Throws Error for a mapping that
/// can't be dumped; nothing is changed in the process.
DumpedMemory dumpVmas(std::span<const kernel::Vma> vmas, const VmaDumpRules& rules, MappedFileDump& files,
                      Arena& arena);

}  // namespace criu::memory
