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

/// Statistics of dumpPages(). Pages have 4 KiB.
struct PageDumpResult {
    std::uint64_t pagesScanned = 0;       ///< size of the private mappings
    std::uint64_t pagesWritten = 0;       ///< pages with content, including zero pages
    std::uint64_t pagesInParent = 0;      ///< pages left to the parent dump
    std::uint64_t pagesLeftLazy = 0;      ///< pages left lazy
    std::chrono::microseconds finding{};  ///< time for page table walks; threads may copy during it
    std::chrono::microseconds moving{};   ///< time for the copy after the walks
};

/// Process whose pages are dumped before its mappings. Its mappings have no file names.
struct EarlyDump {
    DumpedMemory memory;
    PageDumpResult result;
};

/// Process to dump pages of.
struct PageDumpTask {
    HostPid pid;
    TreePid imageId;  ///< pid in image names
    const kernel::ProcPid& process;
    kernel::PagemapScanner::Mode mode = kernel::PagemapScanner::Mode::Auto;
    /// Written pages since the parent dump, and the pages that the parent has. Clean pages that the parent has aren't
    /// dumped. Null: all are dumped.
    const WriteTracking* tracking = nullptr;
    const ParentPages* parent = nullptr;
    /// Lazy areas, which stay in the process: images mark them as lazy. Null: all is dumped.
    const LazyAreas* staying = nullptr;
    /// /proc/PID/mem of a stopped clone of `process`, read instead of the process; -1: none.
    int clone = -1;
};

/// Writes the private pages of one frozen process to a sink. Adds guard regions to `memory`.
PageDumpResult dumpPages(const PageDumpTask& task, DumpedMemory& memory, PageSinks& sinks, Drainer& drainer,
                         Arena& arena);

/// Pages of one frozen process that a pre-dump copies later. Excludes huge pages and pages with untracked writes,
/// which the final dump copies.
struct FoundPages {
    std::vector<DrainJob> jobs;
    std::uint64_t scanned = 0;   ///< size of the mappings in pages
    std::uint64_t inParent = 0;  ///< pages that the parent dump has
};
[[nodiscard]] FoundPages findPages(const PageDumpTask& task, const DumpedMemory& memory);

}  // namespace criu::memory
