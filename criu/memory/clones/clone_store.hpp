// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "criu/base/mapping.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/memory/lazy/lazy_content.hpp"
#include "criu/memory/lazy/lazy_pages.hpp"
#include "criu/memory/pages/ranges.hpp"

namespace criu::memory {

class LazyAreas;

/// Content of the shared-pages file (clone_file.hpp) in the shared-pages daemon. The daemon reads each page from the
/// images once for all clones: when a clone needs the page, or when the daemon is idle. Other processes can't write to
/// the file, because the daemon seals it before clones get it. When the daemon has read all content, it adds
/// F_SEAL_SEAL.
class CloneStore {
public:
    /// `processes`: number of processes in the tree. Throws Error.
    explicit CloneStore(std::size_t processes);

    /// Adds the lazy pages of process `number`. `content` reads these pages by their addresses in the process.
    void add(std::size_t number, const PageSource& source, const LazyAreas& areas,
             std::shared_ptr<const LazyContent> content);
    /// Seals the file: no process can resize it, or map it writable and shared. Must follow all add() calls. Throws
    /// Error.
    void seal();

    [[nodiscard]] int fd() const noexcept { return file_.get(); }
    /// Returns the pages that add() added for a process. In the result, `source` is the offset of a page in the
    /// shared-pages file.
    [[nodiscard]] const LazyPageMap& pagesOf(std::size_t number) const { return pages_.at(number); }

    /// Waits until the file contains the content of a range. All of the range must have been added by add().
    /// Thread-safe. Throws Error.
    void fill(std::uint64_t offset, std::uint64_t bytes);
    /// Reads one block of missing content. Returns false if all content is read or is being read by other threads.
    /// Thread-safe. Throws Error.
    bool fillNext();
    /// Adds F_SEAL_SEAL and releases the images. All content must be read, and no thread may be in fillNext(). Throws
    /// Error.
    void complete();

private:
    enum class Block : std::uint8_t { Empty, Reading, Full };

    /// Mapping of one process, which is equal in all clones of this process.
    struct Area {
        std::uint64_t address = 0;
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
        Mapping here;
        std::shared_ptr<const LazyContent> content;
        std::vector<Range> parts;  ///< ranges of addresses with lazy pages, ascending
        std::vector<Block> blocks;
    };

    void fillBlock(Area& area, std::size_t block);
    void readBlock(const Area& area, std::size_t block) const;

    UniqueFd file_;
    std::vector<Area> areas_;  ///< areas, in ascending order of `offset`
    std::vector<LazyPageMap> pages_;
    std::mutex mutex_;  ///< guards the states of blocks, nextArea_ and nextBlock_
    std::condition_variable changed_;
    std::size_t nextArea_ = 0;
    std::size_t nextBlock_ = 0;
};

}  // namespace criu::memory
