// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"

namespace criu {
class Log;
}

namespace criu::kernel {
class ProcPid;
class VmaFlagReader;
struct Vma;
}  // namespace criu::kernel

namespace criu::memory {
struct DumpedMemory;
struct VmaDumpRules;
}  // namespace criu::memory

namespace criu::engine {

struct FrozenTask;
class FrozenTree;
class MemoryClone;

/// Files of a stopped clone: its directory in /proc, and its /proc/PID/mem.
struct SnapshotFiles {
    const kernel::ProcPid& directory;
    int memory;
};
[[nodiscard]] SnapshotFiles filesOf(const MemoryClone& clone) noexcept;
/// Returns MemoryClone::isStopped().
[[nodiscard]] bool isStopped(const MemoryClone& clone) noexcept;

/// Decides which processes of a dump with --background get a memory snapshot, and limits the memory of all snapshots.
class MemorySnapshots {
public:
    /// `most`: maximum total size of pages that only stopped clones use, in bytes; 0 means no limit.
    MemorySnapshots(FrozenTree& tree, std::uint64_t most, Log& log);
    ~MemorySnapshots();
    MemorySnapshots(const MemorySnapshots&) = delete;
    MemorySnapshots& operator=(const MemorySnapshots&) = delete;

    /// Makes a memory snapshot of a process. Returns null if the dump must read the memory while the process is frozen.
    /// In this case logs the reason, unless the reason is that the process has little memory. The result must not
    /// outlive this object. Throws Error.
    std::shared_ptr<MemoryClone> take(FrozenTask& task, std::span<const kernel::Vma> vmas,
                                      const memory::DumpedMemory& memory);
    /// Does the same for mappings without the fields of smaps, which readMapsOnly() has returned. Doesn't log, and
    /// also returns null if the clone lacks memory of the process: smaps of the process then tells the reason.
    std::shared_ptr<MemoryClone> takeWithoutSmaps(FrozenTask& task, std::span<const kernel::Vma> vmas,
                                                  const memory::DumpedMemory& memory);

    /// Throws Error if the snapshots use more memory than the limit. Call it often while the dump reads snapshots. Any
    /// thread may call it.
    void requireRoom();

private:
    std::shared_ptr<MemoryClone> make(FrozenTask& task);
    [[nodiscard]] std::string whyNot(FrozenTask& task, std::span<const kernel::Vma> vmas,
                                     const memory::DumpedMemory& memory);

    FrozenTree& tree_;
    const std::uint64_t most_;
    Log& log_;
    std::mutex mutex_;
    std::int64_t nextLook_ = 0;  ///< time of the next check in ticks of the steady clock
    std::vector<std::weak_ptr<const MemoryClone>> clones_;
};

// Late reads of smaps by a dump with --background. The kernel walks all page tables for smaps, which takes longer than
// all other work in the freeze of a large process. So criu reads smaps of the stopped clone when the process runs
// again. In the freeze, criu only reads /proc/PID/maps.

/// Mappings of a process without the fields of smaps.
struct LateSmaps {
    std::vector<kernel::Vma> maps;
    std::uint64_t bytes = 0;  ///< private pages, by /proc/PID/status
};

/// Reads /proc/PID/maps of a process that allows a late read of smaps. Returns nullopt if smaps must be read in the
/// freeze. The decision needs facts that /proc/PID/maps doesn't show:
/// - No userfaultfd watches a mapping: its owner could notice the clone, and the clone's mappings lose this flag.
/// - No mapping is locked, because mappings of a clone aren't.
/// - Each mapped file is a regular one of a file system without huge pages or device memory.
/// - No process of the tree shares private pages, because all pages of a clone are shared.
[[nodiscard]] std::optional<LateSmaps> readMapsOnly(FrozenTree& tree, FrozenTask& task,
                                                    const memory::VmaDumpRules& rules, Log& log);

/// Minimum bytes of private pages for which criu prepares kernel::VmaFlagReader. To count fewer pages takes the kernel
/// less time than the preparation.
inline constexpr std::uint64_t kWorthFlagReader = std::uint64_t{256} << 20;

/// Reads /proc/PID/maps and the flags of the mappings of a frozen process, without smaps. The sizes of smaps are
/// missing. Returns nullopt if smaps must be read: the process has few pages, or the dump needs to know which pages are
/// shared or swapped, or a flag isn't known.
[[nodiscard]] std::optional<LateSmaps> readMapsAndFlags(const kernel::VmaFlagReader& reader, FrozenTree& tree,
                                                        FrozenTask& task, Log& log);

/// Returns true if the clone has all mappings and contents of the frozen process. The kernel omits MADV_DONTFORK areas
/// in a clone, and contents of MADV_WIPEONFORK areas (dup_mmap(), mm/mmap.c).
[[nodiscard]] bool hasAllMemory(const kernel::ProcPid& clone, const kernel::ProcPid& process,
                                std::span<const kernel::Vma> maps);

/// Adds the fields of smaps to mappings of a process. `smaps`: readSmaps() of the process or of its clone. The clone
/// may have a larger mapping, so that sizes are upper limits. Throws Error if a mapping is missing.
void addSmapsFields(std::span<kernel::Vma> maps, std::span<const kernel::Vma> smaps);

}  // namespace criu::engine
