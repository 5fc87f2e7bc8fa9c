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

/// System V shared memory (shmget(2)) that processes have attached, in the IPC namespace that criu is in as well.
/// Segments outlive processes, so a restore may find one still there, with nobody attached; otherwise it is made again
/// with the same id and key. Mappings refer to segments by id, which /proc/PID/maps shows as inode number.
namespace criu::memory {

/// What is behind a mapping of System V shared memory in /proc/PID/maps.
[[nodiscard]] bool isSysvShm(const std::string& name);

/// Dump half. A segment that somebody outside of the tree has attached as well is refused: its content wouldn't be the
/// tree's alone.
class SysvShmDump {
public:
    /// For every mapping of a segment.
    void add(const VmaEntry& vma) { ++attached_[static_cast<int>(vma.shmid)]; }

    /// Ids of the segments: they name contents, as the numbers of other shared memory do.
    [[nodiscard]] std::vector<std::uint32_t> ids() const;

    /// Throws Error for segments in use outside of the tree. Writes nothing if there are none. Returns pages written.
    std::uint64_t write(const ImageDir& images, PageSinks& sinks, std::uint32_t namespaceId, const model::IdMap& ids,
                        Drainer& drainer) const;

private:
    std::map<int, std::uint64_t> attached_;  ///< how often, by id
};

/// Restore half, in criu itself before any process is made. Segments that it has created are removed by the destructor
/// unless commit() was called.
class SysvShmRestore {
public:
    explicit SysvShmRestore(Log& log) : log_(log) {}
    ~SysvShmRestore();
    SysvShmRestore(const SysvShmRestore&) = delete;
    SysvShmRestore& operator=(const SysvShmRestore&) = delete;

    /// Reads the image and makes all segments, contents included.
    void create(const ImageDir& images, const PageSources& pages, std::uint32_t namespaceId, const model::IdMap& ids,
                const std::function<void()>& checkStop = {});

    /// The processes have them: those that had been marked for removal are marked again.
    void commit() noexcept;

private:
    Log& log_;
    std::vector<int> created_;
    std::vector<int> removalMarked_;
};

/// Attaches what `vma` maps of its segment at `place`, which must be free. Returns its protection.
int attachSysvShm(const VmaEntry& vma, std::uint64_t place);

}  // namespace criu::memory
