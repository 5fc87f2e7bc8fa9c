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

/// Interface of a restore to page storage. Each storage (files, a stream, encrypted files …) implements PageSources,
/// PageLayer and PageContent in separate files. Code that restores memory uses PageSource and PageReader.
namespace criu::memory {

/// Consecutive pages of equal state in a checkpoint.
struct PageJob {
    enum class State {
        Absent,   ///< no page: zeroes, or content of the mapped file
        Lazy,     ///< lazy page whose content the images lack
        Present,  ///< readable content
    };
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    State state = State::Absent;
    bool lazyAllowed = false;    ///< if present: may be filled after the process runs
    std::size_t layer = 0;       ///< if present: 0 for this dump, 1 for its parent, and so on
    std::uint64_t position = 0;  ///< if present: position of the first byte in the layer's content

    [[nodiscard]] std::uint64_t end() const noexcept { return address + bytes; }
    [[nodiscard]] bool present() const noexcept { return state == State::Present; }
    /// Returns the part from an address within the job on.
    [[nodiscard]] PageJob from(std::uint64_t start) const noexcept;
    friend bool operator==(const PageJob&, const PageJob&) = default;
};

/// Content of one memory object in one layer, open for reading.
class PageContent {
public:
    virtual ~PageContent() = default;
    /// Reads content from `position` on into the targets, one after another, and consumes `targets`. Thread-safe.
    /// Throws Error, also if the content is too short.
    virtual void read(std::uint64_t position, std::span<iovec> targets) const = 0;
    /// Frees the storage of content, if it was opened by openToFree() and the storage supports it. Thread-safe.
    /// Throws Error.
    virtual void free(std::uint64_t /*position*/, std::uint64_t /*bytes*/) const {}
    /// Returns the location of content, for messages.
    [[nodiscard]] virtual std::string where(std::uint64_t position) const;
};

/// Pages of a memory object in one dump.
class PageLayer {
public:
    virtual ~PageLayer() = default;
    /// Returns ascending, disjoint ranges.
    [[nodiscard]] virtual std::span<const PagemapRange> ranges() const = 0;
    /// Opens the content for the calling process and checks its size. Throws Error.
    [[nodiscard]] virtual std::unique_ptr<PageContent> open() const = 0;
    /// Returns the name of the pagemap, for messages.
    [[nodiscard]] virtual std::string name() const { return "a parent dump"; }
    /// Returns true if content is compared with checksums.
    [[nodiscard]] virtual bool compares() const noexcept { return false; }
    /// Opens content whose storage may be freed after reading.
    [[nodiscard]] virtual std::unique_ptr<PageContent> openToFree() const { return open(); }
};

/// Pages of one memory object in a chain of layers. Layer 0 is the dump that is restored. Each layer has only pages
/// that changed since the next one, its parent.
/// Has no descriptors, so restored processes may inherit it.
class PageSource {
public:
    /// Throws Error if pages of a parent are missing, or if the last layer refers to a parent. `end`: reason why no
    /// parent follows, for messages.
    explicit PageSource(std::vector<std::unique_ptr<const PageLayer>> layers, std::string end = "there is none");

    /// Visits an address range in ascending order, in jobs of equal state.
    void forEach(std::uint64_t start, std::uint64_t end, const std::function<void(const PageJob&)>& visit) const;
    /// Returns these jobs as a list.
    [[nodiscard]] std::vector<PageJob> jobs(std::uint64_t start, std::uint64_t end) const;

    /// Returns true if a page of the range isn't absent.
    [[nodiscard]] bool covers(std::uint64_t start, std::uint64_t end) const noexcept;

    /// Returns the end of the last page that isn't absent; 0 if all are.
    [[nodiscard]] std::uint64_t end() const noexcept;

    [[nodiscard]] std::span<const std::unique_ptr<const PageLayer>> layers() const noexcept { return layers_; }

private:
    void visitLayer(std::size_t layer, std::uint64_t start, std::uint64_t end,
                    const std::function<void(const PageJob&)>& visit) const;

    std::vector<std::unique_ptr<const PageLayer>> layers_;
    std::string end_;
};

/// Opens the page sources of one checkpoint.
class PageSources {
public:
    virtual ~PageSources() = default;

    /// Returns nullopt if the checkpoint has no pages of the object. The source must not outlive this object. Throws
    /// Error.
    [[nodiscard]] virtual std::optional<PageSource> open(const MemoryObject& object) const = 0;

    /// Opens the source of an object that every checkpoint has. Throws Error if it is missing.
    [[nodiscard]] PageSource openRequired(const MemoryObject& object) const;

    /// Returns the user's name for the pages of an object, for messages.
    [[nodiscard]] virtual std::string describe(const MemoryObject& object) const;
};

}  // namespace criu::memory
