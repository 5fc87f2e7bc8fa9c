// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "criu/image/pagemap.hpp"
#include "criu/memory/shmem/memory_object.hpp"

/// Interface between the restore of memory and the storage of pages. Each storage (files, stream, encrypted files)
/// implements PageSources, PageLayer and PageContent. A restore reads pages by PageSource and PageReader.
namespace criu::memory {

/// Consecutive pages with equal state in a checkpoint.
struct PageJob {
    enum class State {
        Absent,   ///< no page in the images: reads as zeroes, or as the mapped file
        Lazy,     ///< lazy page whose content the images lack
        Present,  ///< page whose content the images contain
    };
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    State state = State::Absent;
    bool lazyAllowed = false;  ///< for a present page: true if it may be filled after the process runs
    std::size_t layer = 0;  ///< for a present page: 0 if this dump has the content, 1 if its parent has it, and so on
    std::uint64_t position = 0;  ///< for a present page: position of its first byte in the content of the layer

    [[nodiscard]] std::uint64_t end() const noexcept { return address + bytes; }
    [[nodiscard]] bool present() const noexcept { return state == State::Present; }
    /// Returns the part of the job that begins at address `start`, which must be within the job.
    [[nodiscard]] PageJob from(std::uint64_t start) const noexcept;
    friend bool operator==(const PageJob&, const PageJob&) = default;
};

/// Content of one memory object in one layer, open for reading.
class PageContent {
public:
    virtual ~PageContent() = default;
    /// Reads content that begins at `position` into the targets, one after another, and removes filled targets from
    /// `targets`. Thread-safe. Throws Error, for instance if the content is too short.
    virtual void read(std::uint64_t position, std::span<iovec> targets) const = 0;
    /// Prepares forEachView(). Returns false if the storage can't show the content as memory.
    [[nodiscard]] virtual bool makeViews() { return false; }
    using View = std::span<const std::byte>;
    /// Calls `visit` with memory that shows content, piece after piece. Only system calls may read the memory: an
    /// access by criu would get a signal if the storage has lost a page. makeViews() must have returned true.
    /// Thread-safe. Throws Error.
    virtual void forEachView(std::uint64_t position, std::uint64_t bytes, const std::function<void(View)>& visit) const;
    /// Frees the storage of content. Does nothing if openToFree() didn't open the content, or if the storage can't free
    /// it. Thread-safe. Throws Error.
    virtual void free(std::uint64_t /*position*/, std::uint64_t /*bytes*/) const {}
    /// Returns the location of content, for error messages.
    [[nodiscard]] virtual std::string where(std::uint64_t position) const;
};

/// Pages of one memory object in one dump of a chain.
class PageLayer {
public:
    virtual ~PageLayer() = default;
    /// Returns the ranges of the pagemap, which ascend and don't overlap.
    [[nodiscard]] virtual std::span<const PagemapRange> ranges() const = 0;
    /// Opens the content for the calling process and checks its size. Throws Error.
    [[nodiscard]] virtual std::unique_ptr<PageContent> open() const = 0;
    /// Returns the name of the pagemap, for error messages.
    [[nodiscard]] virtual std::string name() const { return "a parent dump"; }
    /// Returns true if criu compares the content with checksums when it reads the content.
    [[nodiscard]] virtual bool compares() const noexcept { return false; }
    /// Opens the content for PageContent::read() and PageContent::free().
    [[nodiscard]] virtual std::unique_ptr<PageContent> openToFree() const { return open(); }
};

/// Pages of one memory object in a chain of layers. Layer 0 is the dump that criu restores, and layer N + 1 is the
/// parent of layer N. A layer contains only pages that changed since its parent.
/// The object has no open descriptors, so restored processes may inherit it.
class PageSource {
public:
    /// `end`: reason why the last layer has no parent, for error messages. Throws Error if pages of a parent are
    /// missing, or if the last layer refers to a parent.
    explicit PageSource(std::vector<std::unique_ptr<const PageLayer>> layers, std::string end = "there is none");

    /// Calls `visit` with jobs of equal state for all addresses of a range, in ascending order.
    void forEach(std::uint64_t start, std::uint64_t end, const std::function<void(const PageJob&)>& visit) const;
    /// Returns the jobs that forEach() would pass to `visit`.
    [[nodiscard]] std::vector<PageJob> jobs(std::uint64_t start, std::uint64_t end) const;

    /// Returns true if the pagemap lists at least one page of the range.
    [[nodiscard]] bool covers(std::uint64_t start, std::uint64_t end) const noexcept;

    /// Returns the end address of the last page that the pagemap lists, or 0 if it lists none.
    [[nodiscard]] std::uint64_t end() const noexcept;

    /// Adds the size of all pages that aren't absent to `bytes`. A sum above the largest number becomes that number.
    void addPresentBytes(std::uint64_t& bytes) const;

    [[nodiscard]] std::span<const std::unique_ptr<const PageLayer>> layers() const noexcept { return layers_; }

private:
    void visitLayer(std::size_t layer, std::uint64_t start, std::uint64_t end,
                    const std::function<void(const PageJob&)>& visit) const;

    std::vector<std::unique_ptr<const PageLayer>> layers_;
    std::string end_;
};

/// Opener of the page sources of one checkpoint.
class PageSources {
public:
    virtual ~PageSources() = default;

    /// Opens the source of an object. Returns nullopt if the checkpoint has no pages of the object. The source must not
    /// outlive this object. Throws Error.
    [[nodiscard]] virtual std::optional<PageSource> open(const MemoryObject& object) const = 0;

    /// Opens the source of an object that every checkpoint must have. Throws Error if the checkpoint lacks it.
    [[nodiscard]] PageSource openRequired(const MemoryObject& object) const;

    /// Returns a description of the pages of an object, for error messages.
    [[nodiscard]] virtual std::string describe(const MemoryObject& object) const;
};

}  // namespace criu::memory
