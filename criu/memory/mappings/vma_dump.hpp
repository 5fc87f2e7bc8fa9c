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

/// Dump half of mappings: converts /proc data to image entries.
namespace criu::memory {

struct VmaDumpRules {
    /// Device of the kernel's internal tmpfs, which holds memfds and shared anonymous memory
    /// (SegmentsDump::device()).
    std::uint32_t shmemMajor = 0;
    std::uint32_t shmemMinor = 0;
    bool allowUprobes = false;

    [[nodiscard]] bool isKernelTmpfs(const kernel::Vma& vma) const noexcept {
        return vma.devMajor == shmemMajor && vma.devMinor == shmemMinor;
    }
};

struct DumpedVma {
    VmaEntry* entry = nullptr;
    const kernel::Vma* source = nullptr;  ///< null for guard regions; the first one for merged data pages of the vDSO
};

/// Image entries for the mappings of one process.
struct DumpedMemory {
    std::vector<DumpedVma> vmas;  ///< ascending by address, then guard regions
    bool uprobes = false;         ///< the process has an uprobes area, which images omit

    /// Sets mm.vmas. Must follow dumpPages(), which finds the guard regions.
    void fill(MmEntry& mm, Arena& arena) const;
};

/// Converts the mappings of one process (readSmaps()) without changing it. `vmas` must outlive the result. Throws
/// Error for a mapping that can't be dumped.
DumpedMemory dumpVmas(std::span<const kernel::Vma> vmas, const VmaDumpRules& rules, MappedFileDump& files,
                      Arena& arena);

}  // namespace criu::memory
