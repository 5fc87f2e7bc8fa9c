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

/// The shared-pages daemon's half of the shared-pages file (clone_file.hpp). It reads content from images of any
/// form, on demand or in idle time, once for all clones.
/// Other processes can't write to the file: it is sealed before clones get it. F_SEAL_SEAL follows when all content
/// is read.
class CloneStore {
public:
    /// `processes`: number of processes in the tree. Throws Error.
    explicit CloneStore(std::size_t processes);

    /// Adds the lazy pages of process `number`. `content` finds them by their addresses.
    void add(std::size_t number, const PageSource& source, const LazyAreas& areas,
             std::shared_ptr<const LazyContent> content);
    /// Seals the file after all add() calls: no process can map it writable and shared, or resize it. Throws Error.
    void seal();

    [[nodiscard]] int fd() const noexcept { return file_.get(); }
    /// Returns the file pages of a process: their addresses, and their offsets in the file as `source`.
    [[nodiscard]] const LazyPageMap& pagesOf(std::size_t number) const { return pages_.at(number); }

    /// Waits until the file has the content of a range, all of which was added. Thread-safe. Throws Error.
    void fill(std::uint64_t offset, std::uint64_t bytes);
    /// Reads some missing content. Returns false if all is read or being read. Thread-safe. Throws Error.
    bool fillNext();
    /// Sets the final seal when all content is read and no thread is in fillNext(). The images are no longer needed.
    /// Throws Error.
    void complete();

private:
    enum class Block : std::uint8_t { Empty, Reading, Full };

    /// Mapping of a process, equal in all its clones.
    struct Area {
        std::uint64_t address = 0;
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
        Mapping here;
        std::shared_ptr<const LazyContent> content;
        std::vector<Range> parts;  ///< pages with content, ascending
        std::vector<Block> blocks;
    };

    void fillBlock(Area& area, std::size_t block);
    void readBlock(const Area& area, std::size_t block) const;

    UniqueFd file_;
    std::vector<Area> areas_;  ///< ascending by offset
    std::vector<LazyPageMap> pages_;
    std::mutex mutex_;  ///< guards blocks and the position of fillNext()
    std::condition_variable changed_;
    std::size_t nextArea_ = 0;
    std::size_t nextBlock_ = 0;
};

}  // namespace criu::memory
