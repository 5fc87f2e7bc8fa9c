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

/// The file that clones map (clone_file.hpp), as its keeper has it. Content is read from images, whatever their form,
/// when somebody wants it or when there is time, once for all clones. Nobody else can write to the file: it is sealed
/// before it is handed out, and gets its last seal (F_SEAL_SEAL) when all content is there.
class CloneStore {
public:
    /// For a tree of so many processes. Throws Error.
    explicit CloneStore(std::size_t processes);

    /// The late pages of process `number`, whose content is `content`, which finds them by their addresses.
    void add(std::size_t number, const PageSource& source, const LazyAreas& areas,
             std::shared_ptr<const LazyContent> content);
    /// All were added: from here on nobody can map it writable and shared, nor change its size. Throws Error.
    void seal();

    [[nodiscard]] int fd() const noexcept { return file_.get(); }
    /// Which pages of a process the file stands for: their addresses, and their places in the file as `source`.
    [[nodiscard]] const LazyPageMap& pagesOf(std::size_t number) const { return pages_.at(number); }

    /// Returns when the file has the content of a range, whose pages were all added. Any thread. Throws Error.
    void fill(std::uint64_t offset, std::uint64_t bytes);
    /// Reads some content that isn't there yet. False if all is there or being read. Any thread. Throws Error.
    bool fillNext();
    /// All content is there, and nobody is in fillNext(): the images aren't needed any more. Throws Error.
    void complete();

private:
    enum class Block : std::uint8_t { Empty, Reading, Full };

    /// A mapping of a process, or rather of all its clones.
    struct Area {
        std::uint64_t address = 0;
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
        Mapping here;
        std::shared_ptr<const LazyContent> content;
        std::vector<Range> parts;  ///< ascending addresses of pages with content
        std::vector<Block> blocks;
    };

    void fillBlock(Area& area, std::size_t block);
    void readBlock(const Area& area, std::size_t block) const;

    UniqueFd file_;
    std::vector<Area> areas_;  ///< ascending by offset
    std::vector<LazyPageMap> pages_;
    std::mutex mutex_;  ///< for blocks and the place of fillNext()
    std::condition_variable changed_;
    std::size_t nextArea_ = 0;
    std::size_t nextBlock_ = 0;
};

}  // namespace criu::memory
