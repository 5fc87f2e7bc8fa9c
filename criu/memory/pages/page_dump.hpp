// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>

#include "criu/base/ids.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/mm/pagemap.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/memory/mappings/vma_dump.hpp"
#include "criu/memory/pages/drain.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/memory/pages/parent_pages.hpp"

namespace criu::memory {

class LazyAreas;
class WriteTracking;

/// What dumpPages() did. Pages are of 4 KiB.
struct PageDumpResult {
    std::uint64_t pagesScanned = 0;       ///< pages that the private mappings have room for
    std::uint64_t pagesWritten = 0;       ///< that have content, pages of zeroes included
    std::uint64_t pagesInParent = 0;      ///< that the parent dump has
    std::uint64_t pagesLeftLazy = 0;      ///< that come later
    std::chrono::microseconds finding{};  ///< looking at page tables; threads may copy meanwhile
    std::chrono::microseconds moving{};   ///< copying what was left by then
};

/// A process whose pages were dumped before its mappings: these are without the names of their files.
struct EarlyDump {
    DumpedMemory memory;
    PageDumpResult result;
};

/// Whose pages are dumped.
struct PageDumpTask {
    HostPid pid;
    TreePid imageId;  ///< names the image
    const kernel::ProcPid& process;
    kernel::PagemapScanner::Mode mode = kernel::PagemapScanner::Mode::Auto;
    /// What the process hasn't written to since the parent dump is left to that, if it has it. Null: nothing is.
    const WriteTracking* tracking = nullptr;
    const ParentPages* parent = nullptr;
    /// What may come late stays where it is: images say of it that it comes, and from elsewhere. Null: all is dumped.
    const LazyAreas* staying = nullptr;
    /// A clone of the process, whose `process` is, instead of the process itself: /proc/PID/mem of it. -1: none.
    int clone = -1;
};

/// Puts the private pages of one stopped process into a sink. Guard regions found on the way are added to `memory`.
PageDumpResult dumpPages(const PageDumpTask& task, DumpedMemory& memory, PageSinks& sinks, Drainer& drainer,
                         Arena& arena);

/// The pages of one stopped process that a pre-dump takes, to be copied later: those that a process may write to
/// without the page tables showing it, and those of huge pages, are left to the dump.
struct FoundPages {
    std::vector<DrainJob> jobs;
    std::uint64_t scanned = 0;   ///< pages that the mappings have room for
    std::uint64_t inParent = 0;  ///< pages that the parent dump has
};
[[nodiscard]] FoundPages findPages(const PageDumpTask& task, const DumpedMemory& memory);

}  // namespace criu::memory
