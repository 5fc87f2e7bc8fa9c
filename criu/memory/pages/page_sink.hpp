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

/// Where a dump puts pages. Whatever the storage is (files, a page server, a stream …), it is a kind of PageSinks and
/// PageSink in a file of its own, and whoever dumps memory knows these two interfaces only.
namespace criu::memory {

/// Blocks of content are at most this long, and end where a multiple of it begins. Long enough that calls don't count,
/// short enough that what was just read is still in the processor's cache when it is written, and that threads end
/// together. Measured: 0.5 to 2 MiB are equal, less and more are slower.
inline constexpr std::uint64_t kContentBlock = std::uint64_t{1} << 20;

/// Consecutive pages of a memory object.
struct PageRun {
    std::uint64_t address = 0;  ///< of the first byte; in shared memory its offset
    std::uint64_t bytes = 0;    ///< a multiple of kImagePageSize, not 0
    PageFlags flags = PageFlags::Present;
};

/// The content of some pages that were added to a sink.
struct PageBlock {
    /// Bytes of content that were added before this block's. It says in what order blocks come, not where they are
    /// stored.
    std::uint64_t position = 0;
    /// What the content is of, in the order in which it was added: together as long as `bytes`.
    std::span<const kernel::RemoteRange> ranges;
    std::span<const std::byte> bytes;
};

/// The pages of one memory object on their way into a checkpoint: first it is said which pages there are, then, while
/// more are still being found, their content is written by several threads.
class PageSink {
public:
    virtual ~PageSink() = default;
    PageSink(const PageSink&) = delete;
    PageSink& operator=(const PageSink&) = delete;

    /// Adds runs, which ascend by address from call to call. Those with PageFlags::Present have content, which must be
    /// written before finish(); others have none. Returns the position of the first run's content. For one thread;
    /// others may write meanwhile. Throws Error.
    std::uint64_t add(std::span<const PageRun> runs);

    /// Whether blocks are stored in the order of their positions, so that write() waits until those before have their
    /// place. Threads that are to work at the same time have to be given neighbouring blocks then.
    [[nodiscard]] virtual bool isOrdered() const noexcept { return false; }

    /// Several threads are going to write. Before any of them does.
    virtual void share() {}

    /// Writes content of runs that were added. Several threads may write different blocks at once, and a block of a
    /// lower position is always written, or being written, when one of a higher position comes. Returns the bytes of
    /// zero pages that take no storage. Throws Error.
    virtual std::uint64_t write(const PageBlock& block) = 0;

    /// All pages were added and their content was written. Without it nothing is complete. Throws Error.
    virtual void finish() = 0;

    /// Content that was added won't come: calls of write() that wait for other blocks end with an Error. For any
    /// thread.
    virtual void abandon() noexcept {}

    /// Bytes of content that all runs together have, those of zero pages included.
    [[nodiscard]] std::uint64_t contentSize() const noexcept { return contentSize_; }

protected:
    PageSink() = default;

private:
    /// Takes runs over; with them there will be `contentSize` bytes of content.
    virtual void append(std::span<const PageRun> runs, std::uint64_t contentSize) = 0;

    std::uint64_t contentSize_ = 0;
};

/// Makes the sinks of one dump. Several threads may do so at once.
class PageSinks {
public:
    virtual ~PageSinks() = default;

    /// For an object that has no sink yet in this dump. `expected`: about how many bytes of content will come, from
    /// which the storage may choose its form; any number may. The sink must not outlive this object. Throws Error.
    [[nodiscard]] virtual std::unique_ptr<PageSink> open(const MemoryObject& object, std::uint64_t expected) = 0;

    /// What a reader must know, beyond what CRIU 4.2 does, to read what the sinks so far have written: names for
    /// InventoryEntry.extensions. Empty if 4.2 reads it.
    [[nodiscard]] virtual std::vector<std::string> extensions() const { return {}; }

    /// What the parent of the dump has of an object; nothing if there is no such parent. Several threads may ask at
    /// once, also while sinks are open. Throws Error.
    [[nodiscard]] virtual std::optional<ParentPages> parentOf(const MemoryObject&) { return std::nullopt; }

    /// That parentOf() is going to be asked for an object when processes stand still: reads before that what it takes.
    /// Throws Error.
    virtual void readParentAhead(const MemoryObject&) {}

    /// Whether objects of a kind may be stored. All take what CRIU 4.2 has, processes and shared memory.
    [[nodiscard]] virtual bool takes(MemoryObject::Kind kind) const noexcept {
        return kind == MemoryObject::Kind::Process || kind == MemoryObject::Kind::Shared;
    }

    /// All sinks have been finished: returns when everything is stored. Throws Error.
    virtual void finish() {}
};

}  // namespace criu::memory
