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

/// Interface of a dump to page storage. Each storage (files, a page server, a stream …) implements PageSinks and
/// PageSink in separate files. Code that dumps memory uses only these two interfaces.
namespace criu::memory {

/// Maximal size of content blocks, which end at its multiples. Large enough to make calls cheap. Small enough that
/// content is still in the processor's cache when it is written, and that threads end together. Measured: 0.5 to 2
/// MiB are equal; other sizes are slower.
inline constexpr std::uint64_t kContentBlock = std::uint64_t{1} << 20;

/// Consecutive pages of a memory object.
struct PageRun {
    std::uint64_t address = 0;  ///< address of the first byte; in shared memory its offset
    std::uint64_t bytes = 0;    ///< multiple of kImagePageSize, never 0
    PageFlags flags = PageFlags::Present;
};

/// Content of pages that were added to a sink.
struct PageBlock {
    /// Position: bytes of content that were added before this block's. It orders blocks, and isn't a file offset.
    std::uint64_t position = 0;
    /// Ranges of the content, in the order of add(). Their total size is that of `bytes`.
    std::span<const kernel::RemoteRange> ranges;
    std::span<const std::byte> bytes;
};

/// Sink for the pages of one memory object. The dump adds runs while it finds pages; several threads write their
/// content at the same time.
class PageSink {
public:
    virtual ~PageSink() = default;
    PageSink(const PageSink&) = delete;
    PageSink& operator=(const PageSink&) = delete;

    /// Adds runs, which must ascend by address across calls. Runs with PageFlags::Present have content, which must be
    /// written before finish(). Returns the position of the first run's content.
    /// One thread may call it, while others write. Throws Error.
    std::uint64_t add(std::span<const PageRun> runs);

    /// Returns true if write() stores blocks in order of positions, and waits for earlier blocks. Concurrent threads
    /// should then get neighbouring blocks.
    [[nodiscard]] virtual bool isOrdered() const noexcept { return false; }

    /// Announces that several threads will write. Must precede their writes.
    virtual void share() {}

    /// Writes content of added runs. Several threads may write different blocks at once. Callers start blocks in
    /// order of positions. Returns the bytes of zero pages without storage. Throws Error.
    virtual std::uint64_t write(const PageBlock& block) = 0;

    /// Completes the object after all content is written. Throws Error.
    virtual void finish() = 0;

    /// Ends waiting write() calls with an Error, because content will be missing. Any thread may call it.
    virtual void abandon() noexcept {}

    /// Returns the bytes of content of all runs, including zero pages.
    [[nodiscard]] std::uint64_t contentSize() const noexcept { return contentSize_; }

protected:
    PageSink() = default;

private:
    /// Adds runs; `contentSize` is the total content including them.
    virtual void append(std::span<const PageRun> runs, std::uint64_t contentSize) = 0;

    std::uint64_t contentSize_ = 0;
};

/// Creates the sinks of one dump. Thread-safe.
class PageSinks {
public:
    virtual ~PageSinks() = default;

    /// Creates the sink of an object, once per dump. `expected`: estimate of its bytes, which may influence the
    /// storage format. The sink must not outlive this object. Throws Error.
    [[nodiscard]] virtual std::unique_ptr<PageSink> open(const MemoryObject& object, std::uint64_t expected) = 0;

    /// Returns names for InventoryEntry.extensions: formats of written content that CRIU 4.2 can't read. Empty if it
    /// can read all.
    [[nodiscard]] virtual std::vector<std::string> extensions() const { return {}; }

    /// Returns the pages of an object that the parent dump has; nullopt without such a parent. Thread-safe, also
    /// while sinks are open. Throws Error.
    [[nodiscard]] virtual std::optional<ParentPages> parentOf(const MemoryObject&) { return std::nullopt; }

    /// Reads the data for a later parentOf() before processes are frozen. Throws Error.
    virtual void readParentAhead(const MemoryObject&) {}

    /// Returns true if objects of a kind can be stored. All sinks take processes and shared memory, as CRIU 4.2 does.
    [[nodiscard]] virtual bool takes(MemoryObject::Kind kind) const noexcept {
        return kind == MemoryObject::Kind::Process || kind == MemoryObject::Kind::Shared;
    }

    /// Waits until everything is stored, after all sinks are finished. Throws Error.
    virtual void finish() {}
};

}  // namespace criu::memory
