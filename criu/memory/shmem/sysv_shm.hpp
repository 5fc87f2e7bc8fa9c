// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "criu/memory/mappings/vma_status.hpp"

namespace criu {
class ImageDir;
class Log;
}  // namespace criu

namespace criu::memory {
class Drainer;
class PageSinks;
class PageSources;
}  // namespace criu::memory

namespace criu::model {
class IdMap;
}

/// System V shared memory (shmget(2)) of processes in criu's IPC namespace. Segments outlive processes, so a restore
/// may find the dumped segment. No process may have attached this segment. If the segment doesn't exist, criu creates
/// it with the dumped id and key. In /proc/PID/maps, the inode number of a mapping is the id of the segment.
namespace criu::memory {

/// Returns true for the name of a System V shared memory mapping in /proc/PID/maps.
[[nodiscard]] bool isSysvShm(const std::string& name);

/// System V segments of a dump. Refuses a segment that an outside process has attached, because that process could
/// change the content.
class SysvShmDump {
public:
    /// Counts a mapping of a segment. Must be called for every mapping.
    void add(const VmaEntry& vma) { ++attached_[static_cast<int>(vma.shmid)]; }

    /// Returns the ids of the segments. They are also image numbers, which no other shared memory may use.
    [[nodiscard]] std::vector<std::uint32_t> ids() const;

    /// Writes the image and the contents of all segments. Returns the number of pages written. Throws Error if a
    /// process outside of the tree uses a segment.
    std::uint64_t write(const ImageDir& images, PageSinks& sinks, std::uint32_t namespaceId, const model::IdMap& ids,
                        Drainer& drainer) const;

private:
    std::map<int, std::uint64_t> attached_;  ///< number of mappings of each segment; the key is the id
};

/// System V segments of a restore. The coordinator restores them before any process exists. Without commit(), the
/// destructor removes the created segments.
class SysvShmRestore {
public:
    explicit SysvShmRestore(Log& log) : log_(log) {}
    ~SysvShmRestore();
    SysvShmRestore(const SysvShmRestore&) = delete;
    SysvShmRestore& operator=(const SysvShmRestore&) = delete;

    /// Reads the image, creates missing segments, and fills all contents.
    void create(const ImageDir& images, const PageSources& pages, std::uint32_t namespaceId, const model::IdMap& ids,
                const std::function<void()>& checkStop = {});

    /// Marks the segments for removal that had this mark at the dump. Call it when the processes have attached them,
    /// because the kernel removes a marked segment when it is detached for the last time (shmctl(2)). Throws Error.
    void markRemovals();
    /// Keeps the segments.
    void commit() noexcept { created_.clear(); }

private:
    void recordSegment(int id) const;

    Log& log_;
    std::vector<int> created_;
    std::vector<int> removalMarked_;
};

/// Attaches the part of a segment that `vma` maps at address `place`, which must be free. Returns the protection.
int attachSysvShm(const VmaEntry& vma, std::uint64_t place);

}  // namespace criu::memory
