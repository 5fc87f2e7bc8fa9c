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

/// What of a clone its memory is read by.
struct SnapshotFiles {
    const kernel::ProcPid& directory;
    int memory;
};
[[nodiscard]] SnapshotFiles filesOf(const MemoryClone& clone) noexcept;

/// The dump's part of --background: which processes' memory can be copied when they run again, and how much memory that
/// may take meanwhile.
class MemorySnapshots {
public:
    /// `most`: of memory that clones have alone, in bytes; 0: any amount.
    MemorySnapshots(FrozenTree& tree, std::uint64_t most, Log& log);
    ~MemorySnapshots();
    MemorySnapshots(const MemorySnapshots&) = delete;
    MemorySnapshots& operator=(const MemorySnapshots&) = delete;

    /// Null for a process whose memory has to be read while it stands still; the log says why, unless it has little.
    /// The result must not outlive this object. Throws Error.
    std::shared_ptr<MemoryClone> take(FrozenTask& task, std::span<const kernel::Vma> vmas,
                                      const memory::DumpedMemory& memory);

    /// To be called often, from any thread, while clones are read. Throws Error if they have grown beyond the limit.
    void requireRoom();

private:
    [[nodiscard]] std::string whyNot(FrozenTask& task, std::span<const kernel::Vma> vmas,
                                     const memory::DumpedMemory& memory);

    std::unique_ptr<ReparentCheck> adoption_;
    FrozenTree& tree_;
    const std::uint64_t most_;
    Log& log_;
    std::mutex mutex_;
    std::int64_t nextLook_ = 0;  ///< in the ticks of a steady clock
    std::vector<std::weak_ptr<const MemoryClone>> clones_;
};

}  // namespace criu::engine
