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

/// Where a restore gets pages from. Whatever the storage is (files, a stream, encrypted files …), it is a kind of
/// PageSources, PageLayer and PageContent in a file of its own; whoever restores memory knows PageSource, and reads by
/// PageReader.
namespace criu::memory {

/// What a checkpoint says of consecutive pages.
struct PageJob {
    enum class State {
        Absent,   ///< nothing: zeroes, or what the mapped file has
        Lazy,     ///< they come after the process runs again; the images don't have them
        Present,  ///< content can be read
    };
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    State state = State::Absent;
    bool lazyAllowed = false;    ///< if present: may be read after the process runs again
    std::size_t layer = 0;       ///< if present: 0 for this dump, 1 for its parent, and so on
    std::uint64_t position = 0;  ///< if present: of the first byte in the layer's content, in the order of a sink

    [[nodiscard]] std::uint64_t end() const noexcept { return address + bytes; }
    [[nodiscard]] bool present() const noexcept { return state == State::Present; }
    /// What remains of it from an address within on.
    [[nodiscard]] PageJob from(std::uint64_t start) const noexcept;
    friend bool operator==(const PageJob&, const PageJob&) = default;
};

/// The content of one memory object in one dump, open for reading.
class PageContent {
public:
    virtual ~PageContent() = default;
    /// Reads content from `position` on into the targets, one behind the other. `targets` is used up by the call.
    /// Several threads may read at once. Throws Error, also if there is less content.
    virtual void read(std::uint64_t position, std::span<iovec> targets) const = 0;
    /// Content isn't needed any more: its storage is freed, if it was opened for that and has a way to do it. Several
    /// threads may do so at once. Throws Error.
    virtual void free(std::uint64_t /*position*/, std::uint64_t /*bytes*/) const {}
    /// Where content is stored, for messages.
    [[nodiscard]] virtual std::string where(std::uint64_t position) const;
};

/// What one dump has of a memory object.
class PageLayer {
public:
    virtual ~PageLayer() = default;
    /// Ascending and disjoint.
    [[nodiscard]] virtual std::span<const PagemapRange> ranges() const = 0;
    /// Opens the content for the calling process, and checks that there is enough of it. Throws Error.
    [[nodiscard]] virtual std::unique_ptr<PageContent> open() const = 0;
    /// Which pagemap that is, for messages.
    [[nodiscard]] virtual std::string name() const { return "a parent dump"; }
    /// Whether content is compared with checksums as it is read.
    [[nodiscard]] virtual bool compares() const noexcept { return false; }
    /// The same as open(), for content that may be freed when it was read.
    [[nodiscard]] virtual std::unique_ptr<PageContent> openToFree() const { return open(); }
};

/// The pages of one memory object. An incremental dump has only what changed since the dump before it, its parent,
/// which may have a parent itself: the layers, of which the first is the dump that is restored.
///
/// Holds no descriptors, so that processes to be restored may inherit it.
class PageSource {
public:
    /// Throws Error if the last layer says of pages that they are in its parent, or if any parent hasn't got them.
    /// `end`: why there is no further layer, for messages.
    explicit PageSource(std::vector<std::unique_ptr<const PageLayer>> layers, std::string end = "there is none");

    /// Visits all of an address range in ascending order, cut where something changes.
    void forEach(std::uint64_t start, std::uint64_t end, const std::function<void(const PageJob&)>& visit) const;
    /// The same as a list.
    [[nodiscard]] std::vector<PageJob> jobs(std::uint64_t start, std::uint64_t end) const;

    /// Whether any page of a range isn't absent.
    [[nodiscard]] bool covers(std::uint64_t start, std::uint64_t end) const noexcept;

    /// The end of the last page that isn't absent; 0 if all are.
    [[nodiscard]] std::uint64_t end() const noexcept;

    [[nodiscard]] std::span<const std::unique_ptr<const PageLayer>> layers() const noexcept { return layers_; }

private:
    void visitLayer(std::size_t layer, std::uint64_t start, std::uint64_t end,
                    const std::function<void(const PageJob&)>& visit) const;

    std::vector<std::unique_ptr<const PageLayer>> layers_;
    std::string end_;
};

/// Opens the sources of one checkpoint.
class PageSources {
public:
    virtual ~PageSources() = default;

    /// Nothing if the checkpoint has no pages of the object. The source must not outlive this object. Throws Error.
    [[nodiscard]] virtual std::optional<PageSource> open(const MemoryObject& object) const = 0;

    /// The same for an object that a checkpoint can't be without. Throws Error if there is none.
    [[nodiscard]] PageSource openRequired(const MemoryObject& object) const;

    /// What the user knows the pages of an object by, for messages.
    [[nodiscard]] virtual std::string describe(const MemoryObject& object) const;
};

}  // namespace criu::memory
