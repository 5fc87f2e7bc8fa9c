// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/maps.hpp"
#include "criu/memory/vma_status.hpp"
#include "images/mm.fwd.hpp"

/// Dump half of mappings: from what the kernel shows of them to what images say.
namespace criu::memory {

/// Answers about the file behind a mapping.
class MappedFileDump {
public:
    virtual ~MappedFileDump() = default;

    /// The image id of a path entry for the file. Asked once per process and file.
    virtual FileId fileFor(const kernel::Vma& vma) = 0;

    /// The image id of a memfd entry for shared memory. Asked once per process and segment.
    virtual FileId segmentFor(const kernel::Vma& vma) = 0;

    /// How the description that was mapped had been opened: O_RDONLY or O_RDWR (nobody can map write-only). Asked for
    /// every mapping of a file.
    virtual int accessOf(const kernel::Vma& vma) = 0;

    /// Whether mapping the file again gives the same memory: a regular file, or /dev/zero. Asked once per file.
    virtual bool isPlain(const kernel::Vma& vma) = 0;

    /// The image id of the packet socket whose ring this is; 0 if it isn't one that somebody has open.
    virtual FileId socketFor(const kernel::Vma&) { return {}; }

    /// The same of the io_uring that is mapped.
    virtual FileId ioUringFor(const kernel::Vma&) { return {}; }

    /// Device memory that a device subsystem takes care of; its file id goes to `file`.
    virtual bool claimsDevice(const kernel::Vma&, FileId& /*file*/) { return false; }
};

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
