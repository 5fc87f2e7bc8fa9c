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

/// System V shared memory (shmget(2)) of processes in criu's IPC namespace. Segments outlive processes. So a restore
/// may find a segment that no process has attached; otherwise it creates it with the dumped id and key.
/// Mappings name segments by id, which /proc/PID/maps shows as inode number.
namespace criu::memory {

/// Returns true for the name of a System V shared memory mapping in /proc/PID/maps.
[[nodiscard]] bool isSysvShm(const std::string& name);

/// Dump half. Refuses a segment that a process outside of the tree has attached too, because that process could
/// change its content.
class SysvShmDump {
public:
    /// Counts a mapping of a segment. Needed for every mapping.
    void add(const VmaEntry& vma) { ++attached_[static_cast<int>(vma.shmid)]; }

    /// Returns the ids of the segments, which share image numbers with other shared memory.
    [[nodiscard]] std::vector<std::uint32_t> ids() const;

    /// Writes the image, if there are segments. Returns the number of pages written. Throws Error for segments in use
    /// outside of the tree.
    std::uint64_t write(const ImageDir& images, PageSinks& sinks, std::uint32_t namespaceId, const model::IdMap& ids,
                        Drainer& drainer) const;

private:
    std::map<int, std::uint64_t> attached_;  ///< number of attaches by id
};

/// Restore half, which runs in the coordinator before any process exists. The destructor removes segments that it
/// created, unless commit() was called.
class SysvShmRestore {
public:
    explicit SysvShmRestore(Log& log) : log_(log) {}
    ~SysvShmRestore();
    SysvShmRestore(const SysvShmRestore&) = delete;
    SysvShmRestore& operator=(const SysvShmRestore&) = delete;

    /// Reads the image and creates all segments with their contents.
    void create(const ImageDir& images, const PageSources& pages, std::uint32_t namespaceId, const model::IdMap& ids,
                const std::function<void()>& checkStop = {});

    /// Keeps the segments, which the processes have attached. Marks those for removal that were dumped so.
    void commit() noexcept;

private:
    Log& log_;
    std::vector<int> created_;
    std::vector<int> removalMarked_;
};

/// Attaches the part of a segment that `vma` maps at `place`, which must be free. Returns the protection.
int attachSysvShm(const VmaEntry& vma, std::uint64_t place);

}  // namespace criu::memory
