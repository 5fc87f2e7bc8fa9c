// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "criu/image/pagemap.hpp"
#include "criu/kernel/mm/process_vm.hpp"
#include "criu/memory/pages/parent_pages.hpp"
#include "criu/memory/shmem/memory_object.hpp"

/// Interface between the dump of memory and the storage of pages. Each storage (files, page server, stream) implements
/// PageSinks and PageSink.
namespace criu::memory {

/// Maximum size of content blocks; a block ends at the next multiple of this size. It is large enough to make system
/// calls cheap. It is small enough that content is still in the processor's cache when a thread writes it, and that all
/// threads end at about the same time. 0.5 to 2 MiB are equally fast; other sizes are slower.
inline constexpr std::uint64_t kContentBlock = std::uint64_t{1} << 20;

/// Consecutive pages of a memory object with equal flags.
struct PageRun {
    std::uint64_t address = 0;  ///< address of the first byte; for shared memory its offset
    std::uint64_t bytes = 0;    ///< size in bytes, a multiple of kImagePageSize; never 0
    PageFlags flags = PageFlags::Present;
};

/// Content of consecutive pages. The dump has added these pages to a sink, as pages with content.
struct PageBlock {
    /// Position of the block: number of bytes of content that were added to the sink before this block; not a file
    /// offset.
    std::uint64_t position = 0;
    /// Address ranges of the content, in the order in which the dump added them. Their total size is the size of
    /// `bytes`.
    std::span<const kernel::RemoteRange> ranges;
    std::span<const std::byte> bytes;
};

/// Sink for the pages of one memory object. The dump adds runs while it searches for pages. Several threads write the
/// content at the same time.
class PageSink {
public:
    virtual ~PageSink() = default;
    PageSink(const PageSink&) = delete;
    PageSink& operator=(const PageSink&) = delete;

    /// Adds runs, in ascending order of addresses across calls. Threads must write the content of runs with
    /// PageFlags::Present before finish(). Returns the position of the first run's content. One thread may call this
    /// while other threads write. Throws Error.
    std::uint64_t add(std::span<const PageRun> runs);

    /// Returns true if write() stores blocks in ascending order of positions, and waits until earlier blocks are
    /// stored. Threads should then write neighbouring blocks at the same time.
    [[nodiscard]] virtual bool isOrdered() const noexcept { return false; }

    /// Announces that several threads will call write(). Must precede these calls.
    virtual void share() {}

    /// Writes content of added runs. Several threads may write different blocks at the same time, but must begin the
    /// calls in ascending order of positions. Returns the number of bytes of zero pages that take no storage. Throws
    /// Error.
    virtual std::uint64_t write(const PageBlock& block) = 0;

    /// Completes the object. Must follow the last write(). Throws Error.
    virtual void finish() = 0;

    /// Makes waiting write() calls throw Error, because a thread has failed and its content will be missing. Any thread
    /// may call it.
    virtual void abandon() noexcept {}

    /// Returns the size in bytes of the content of all added runs, including zero pages.
    [[nodiscard]] std::uint64_t contentSize() const noexcept { return contentSize_; }

protected:
    PageSink() = default;

private:
    /// Adds runs. `contentSize`: size in bytes of the content of all runs, including the new ones.
    virtual void append(std::span<const PageRun> runs, std::uint64_t contentSize) = 0;

    std::uint64_t contentSize_ = 0;
};

/// Creator of the sinks of one dump. Thread-safe.
class PageSinks {
public:
    virtual ~PageSinks() = default;

    /// Creates the sink of an object, once per dump. `expected`: estimate of the object's content in bytes, which may
    /// influence the storage format. The sink must not outlive this object. Throws Error.
    [[nodiscard]] virtual std::unique_ptr<PageSink> open(const MemoryObject& object, std::uint64_t expected) = 0;

    /// Returns the names of all used formats that CRIU 4.2 can't read, for InventoryEntry.extensions. The result is
    /// empty if CRIU 4.2 can read all written content.
    [[nodiscard]] virtual std::vector<std::string> extensions() const { return {}; }

    /// Returns the pages of an object that the parent dump has, or nullopt without a parent dump of the object.
    /// Thread-safe, even while sinks are open. Throws Error.
    [[nodiscard]] virtual std::optional<ParentPages> parentOf(const MemoryObject&) { return std::nullopt; }

    /// Reads the data that parentOf() will need. Call it before criu freezes processes. Throws Error.
    virtual void readParentAhead(const MemoryObject&) {}

    /// Returns true if the sinks can store objects of a kind. All sinks store processes and shared memory, as CRIU 4.2
    /// does.
    [[nodiscard]] virtual bool takes(MemoryObject::Kind kind) const noexcept {
        return kind == MemoryObject::Kind::Process || kind == MemoryObject::Kind::Shared;
    }

    /// Waits until all content is stored. Must follow finish() of all sinks. Throws Error.
    virtual void finish() {}
};

}  // namespace criu::memory
