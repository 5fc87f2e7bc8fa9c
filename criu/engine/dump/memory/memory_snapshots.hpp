// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace criu {
class Log;
}

namespace criu::kernel {
class ProcPid;
struct Vma;
}  // namespace criu::kernel

namespace criu::memory {
struct DumpedMemory;
}

namespace criu::engine {

class ReparentCheck;
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

    /// Throws Error if the snapshots use more memory than the limit. Call it often while the dump reads snapshots. Any
    /// thread may call it.
    void requireRoom();

private:
    [[nodiscard]] std::string whyNot(FrozenTask& task, std::span<const kernel::Vma> vmas,
                                     const memory::DumpedMemory& memory);

    std::unique_ptr<ReparentCheck> adoption_;
    FrozenTree& tree_;
    const std::uint64_t most_;
    Log& log_;
    std::mutex mutex_;
    std::int64_t nextLook_ = 0;  ///< time of the next check in ticks of the steady clock
    std::vector<std::weak_ptr<const MemoryClone>> clones_;
};

}  // namespace criu::engine
