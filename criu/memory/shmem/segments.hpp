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

/// Segments that several processes may map: shared anonymous memory and memfds.
namespace criu::memory {
struct ReadWatch;

/// Restore half. The coordinator creates every segment before the first process, so that all processes inherit the
/// descriptors. Its threads fill the contents while processes are being restored.
class Segments {
public:
    /// Finds the segments that the tree's mappings and files use, and their contents. `pages` must outlive this
    /// object. `memfdOf`: returns the inode id for the file id of a memfd, 0 for other files.
    void collect(const model::ProcessTree& tree, const ImageDir& images, const PageSources& pages,
                 const std::function<std::uint64_t(FileId)>& memfdOf);

    /// Frees storage of content once it is read (--auto-dedup). Must precede create().
    void freeWhatIsRead() noexcept { frees_ = true; }

    /// Returns the number of segments, which is the number of descriptors of create().
    [[nodiscard]] std::size_t count() const noexcept { return byShmid_.size() + byInode_.size(); }

    /// Creates all segments. Fills only write-sealed memfds. Adds the descriptors to `store` for inheritance.
    /// `checkStop` is called between pieces of content and throws to end the work; may be empty.
    void create(const model::IdMap& ids, kernel::FdStore& store, const std::function<void()>& checkStop = {});

    /// Fills the other segments, also while processes are being restored. Returns the total of bytes read.
    std::uint64_t fill(const std::function<void()>& checkStop, const ReadWatch& watch);

    /// Sets the remaining seals. Must follow fill() and the last mapping by a process.
    void finish() const;

    /// Returns a borrowed descriptor for mapping. Throws Error for an unknown segment.
    [[nodiscard]] int descriptorFor(const VmaEntry& vma) const;
    /// Returns the memfd of an inode id. Throws Error if unknown.
    [[nodiscard]] int memfd(std::uint64_t inodeId) const;

private:
    struct Segment {
        std::uint64_t shmid = 0;
        std::uint64_t size = 0;
        UniqueFd fd;
        std::optional<PageSource> content;
        const MemfdInodeEntry* memfd = nullptr;  ///< null for shared anonymous memory
        bool filled = false;
        bool sealLate = false;  ///< a process maps it for writing, so seals must follow the mapping
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
    std::map<std::uint64_t, std::uint64_t> inodeOfFile_;  ///< from memfd file id to inode id
};

/// Fills memory of this process with the content of segment `shmid`; a null `pages` means no content. Leaves absent
/// pages unchanged. Returns the bytes read. `frees`: frees storage of read content.
/// Content may reach to the end of the last page of `memory`, which must be mapped. Throws Error, also if content
/// lies beyond `memory`.
std::uint64_t fillSharedContent(const PageSource* pages, std::uint64_t shmid, std::span<std::byte> memory,
                                const std::function<void()>& checkStop, const ReadWatch& watch, bool frees);
/// Fills memory without notifications, and frees no storage.
std::uint64_t fillSharedContent(const PageSource* pages, std::uint64_t shmid, std::span<std::byte> memory,
                                const std::function<void()>& checkStop);

}  // namespace criu::memory
