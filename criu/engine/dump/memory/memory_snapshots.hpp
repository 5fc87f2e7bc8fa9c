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

/// Files by which the memory of a clone is read.
struct SnapshotFiles {
    const kernel::ProcPid& directory;
    int memory;
};
[[nodiscard]] SnapshotFiles filesOf(const MemoryClone& clone) noexcept;

/// The dump's part of --background: decides which processes get a memory snapshot, and limits the memory of snapshots.
class MemorySnapshots {
public:
    /// `most` limits the bytes of memory that only clones have; 0 means no limit.
    MemorySnapshots(FrozenTree& tree, std::uint64_t most, Log& log);
    ~MemorySnapshots();
    MemorySnapshots(const MemorySnapshots&) = delete;
    MemorySnapshots& operator=(const MemorySnapshots&) = delete;

    /// Makes a memory snapshot. Returns null for a process whose memory must be read while it is frozen; logs the
    /// reason unless it has little memory. The result must not outlive this object. Throws Error.
    std::shared_ptr<MemoryClone> take(FrozenTask& task, std::span<const kernel::Vma> vmas,
                                      const memory::DumpedMemory& memory);

    /// Throws Error if snapshots have grown beyond the limit. Call it often while snapshots are read; any thread may.
    void requireRoom();

private:
    [[nodiscard]] std::string whyNot(FrozenTask& task, std::span<const kernel::Vma> vmas,
                                     const memory::DumpedMemory& memory);

    std::unique_ptr<ReparentCheck> adoption_;
    FrozenTree& tree_;
    const std::uint64_t most_;
    Log& log_;
    std::mutex mutex_;
    std::int64_t nextLook_ = 0;  ///< steady clock ticks
    std::vector<std::weak_ptr<const MemoryClone>> clones_;
};

}  // namespace criu::engine
