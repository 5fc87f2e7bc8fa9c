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

/// Memory that several processes may map: shared anonymous memory and memfds.
namespace criu::memory {
struct ReadWatch;

/// Restore half. The master makes every segment before the first process is created; all inherit the descriptors.
/// Contents are filled by the master's threads while processes are being built.
class Segments {
public:
    /// Finds the segments that the tree's mappings and files use, and what there is of their contents; `pages` outlives
    /// this object. `memfdOf`: inode id of a memfd's file id, 0 if the file isn't one.
    void collect(const model::ProcessTree& tree, const ImageDir& images, const PageSources& pages,
                 const std::function<std::uint64_t(FileId)>& memfdOf);

    /// From now on content is freed as soon as it has been read (--auto-dedup). Before create().
    void freeWhatIsRead() noexcept { frees_ = true; }

    /// How many there are: descriptors that create() makes.
    [[nodiscard]] std::size_t count() const noexcept { return byShmid_.size() + byInode_.size(); }

    /// Creates them, empty but for write-sealed memfds. Descriptors are inherited through `store`. `checkStop` is
    /// called between pieces of content and throws if the work is to end; may be empty.
    void create(const model::IdMap& ids, kernel::FdStore& store, const std::function<void()>& checkStop = {});

    /// Reads the contents of the others; may be called while processes are being restored. Returns bytes read in all.
    std::uint64_t fill(const std::function<void()>& checkStop, const ReadWatch& watch);

    /// Sets seals that mustn't be there before the last process has mapped its memory. When all have, and after fill().
    void finish() const;

    /// For mapping; stays ours. Throws Error for a segment that isn't known.
    [[nodiscard]] int descriptorFor(const VmaEntry& vma) const;
    /// The memfd of an inode id; throws Error if there is none.
    [[nodiscard]] int memfd(std::uint64_t inodeId) const;

private:
    struct Segment {
        std::uint64_t shmid = 0;
        std::uint64_t size = 0;
        UniqueFd fd;
        std::optional<PageSource> content;
        const MemfdInodeEntry* memfd = nullptr;  ///< null for plain shared memory
        bool filled = false;
        bool sealLate = false;  ///< some process maps it for writing, which the seals wouldn't let it do again
    };
    static void seal(const Segment& segment);
    [[nodiscard]] std::uint64_t fill(const Segment& segment, const std::function<void()>& checkStop,
                                     const ReadWatch& watch) const;
    Segment& add(std::uint64_t shmid, std::uint64_t size);

    bool frees_ = false;
    std::uint64_t sealedBytes_ = 0;
    std::vector<Record<MemfdInodeEntry>> inodes_;
    std::map<std::uint64_t, Segment> byShmid_;
    std::map<std::uint64_t, Segment> byInode_;
    std::map<std::uint64_t, std::uint64_t> inodeOfFile_;  ///< memfd file id to inode id
};

/// Fills memory of this process with the content of shared memory `shmid`; `pages` may be null if there is none. What
/// isn't in the images is left as it is. Returns bytes read. Throws Error, also if there is content beyond `memory` up
/// to the end of its last page, which must be mapped as well. `frees`: storage of what was read is freed.
std::uint64_t fillSharedContent(const PageSource* pages, std::uint64_t shmid, std::span<std::byte> memory,
                                const std::function<void()>& checkStop, const ReadWatch& watch, bool frees);
/// The same, which nobody is told of, and which leaves the storage as it is.
std::uint64_t fillSharedContent(const PageSource* pages, std::uint64_t shmid, std::span<std::byte> memory,
                                const std::function<void()>& checkStop);

}  // namespace criu::memory
