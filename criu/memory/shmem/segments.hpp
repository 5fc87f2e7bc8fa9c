// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/record.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "images/memfd.fwd.hpp"
#include "images/vma.fwd.hpp"

namespace criu {
class ImageDir;
}

namespace criu::kernel {
class FdStore;
}

namespace criu::model {
class IdMap;
struct ProcessTree;
}  // namespace criu::model

/// Segments: shared anonymous memory and memfds, which several processes may map.
namespace criu::memory {
struct ReadWatch;

/// Creates shared anonymous memory and returns a descriptor of it. /proc/PID/maps shows mappings of it as "/dev/zero
/// (deleted)", as for mmap(MAP_SHARED | MAP_ANONYMOUS). Throws Error.
[[nodiscard]] UniqueFd makeAnonymousShared(std::uint64_t size);

/// Segments of a restore. The coordinator creates all segments before the first process, so that all processes inherit
/// the descriptors. Threads of the coordinator fill the contents while criu restores processes.
class Segments {
public:
    /// Finds the segments that mappings and files of the tree use, and opens their contents. `pages` must outlive this
    /// object. `memfdOf`: returns the inode id of a memfd for its file id, and 0 for other files.
    void collect(const model::ProcessTree& tree, const ImageDir& images, const PageSources& pages,
                 const std::function<std::uint64_t(FileId)>& memfdOf);

    /// Makes criu free the storage of content after it was read (--auto-dedup). Must precede create().
    void freeWhatIsRead() noexcept { frees_ = true; }

    /// Returns the number of segments. create() opens one descriptor for each.
    [[nodiscard]] std::size_t count() const noexcept { return byShmid_.size() + byInode_.size(); }

    /// Returns the number of bytes that the images contain for all segments.
    [[nodiscard]] std::uint64_t contentBytes() const;

    /// Returns a file with the content of a shared memory object; an invalid descriptor to create and fill it here.
    using Provide = std::function<UniqueFd(std::uint64_t shmid, std::uint64_t size)>;

    /// Creates all segments, and adds their descriptors to `store`, so that processes inherit them. Fills and seals
    /// only memfds with a write seal. `checkStop` is called between pieces of content and throws to end the work; it
    /// may be empty.
    void create(const model::IdMap& ids, kernel::FdStore& store, const std::function<void()>& checkStop = {},
                const Provide& provide = {});

    /// Fills the segments that create() left empty. May run while criu restores processes. Returns the number of bytes
    /// read, including the bytes that create() read.
    std::uint64_t fill(const std::function<void()>& checkStop, const ReadWatch& watch);

    /// Sets the remaining seals, and the times of memfds. Must follow fill() and the last mmap(2) of a process.
    void finish() const;

    /// Returns a borrowed descriptor of the segment that `vma` maps. Throws Error for an unknown segment.
    [[nodiscard]] int descriptorFor(const VmaEntry& vma) const;
    /// Returns a borrowed descriptor of the memfd with an inode id. Throws Error for an unknown id.
    [[nodiscard]] int memfd(std::uint64_t inodeId) const;

private:
    struct Segment {
        std::uint64_t shmid = 0;
        std::uint64_t size = 0;
        UniqueFd fd;
        std::optional<PageSource> content;
        const MemfdInodeEntry* memfd = nullptr;  ///< null for shared anonymous memory
        bool filled = false;
        /// True if a process maps it for writing: criu then sets the seals after the mapping is created.
        bool sealLate = false;
    };
    static void seal(const Segment& segment);
    static bool takeProvided(Segment& segment, kernel::FdStore& store, const Provide& provide);
    [[nodiscard]] std::uint64_t fill(const Segment& segment, const std::function<void()>& checkStop,
                                     const ReadWatch& watch) const;
    Segment& add(std::uint64_t shmid, std::uint64_t size);

    bool frees_ = false;
    std::uint64_t sealedBytes_ = 0;
    std::vector<Record<MemfdInodeEntry>> inodes_;
    std::map<std::uint64_t, Segment> byShmid_;
    std::map<std::uint64_t, Segment> byInode_;
    std::map<std::uint64_t, std::uint64_t> inodeOfFile_;  ///< inode id of each memfd; the key is the file id
};

/// Fills `memory` of this process with the content of segment `shmid`. If `pages` is null, there is no content. Leaves
/// absent pages unchanged. `frees`: true to free the storage of content that was read. Returns the number of bytes
/// read. The last page of `memory` must be mapped completely, because content may reach to its end. Throws Error, for
/// instance if content lies beyond this page.
std::uint64_t fillSharedContent(const PageSource* pages, std::uint64_t shmid, std::span<std::byte> memory,
                                const std::function<void()>& checkStop, const ReadWatch& watch, bool frees);
/// Does the same without notifications, and frees no storage.
std::uint64_t fillSharedContent(const PageSource* pages, std::uint64_t shmid, std::span<std::byte> memory,
                                const std::function<void()>& checkStop);

}  // namespace criu::memory
