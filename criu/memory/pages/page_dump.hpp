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
    std::uint64_t pagesScanned = 0;       ///< pages of all private mappings
    std::uint64_t pagesWritten = 0;       ///< pages with content, including zero pages
    std::uint64_t pagesInParent = 0;      ///< clean pages, which only the parent dump contains
    std::uint64_t pagesLeftLazy = 0;      ///< lazy pages that stay in the process
    std::chrono::microseconds finding{};  ///< time for page table walks, in which other threads may copy
    std::chrono::microseconds moving{};   ///< time for the copy after the walks
};

/// Result of dumping the pages of a process before the dump of its mappings. The mappings in `memory` have no file
/// names.
struct EarlyDump {
    DumpedMemory memory;
    PageDumpResult result;
};

/// Process whose pages are dumped, with options.
struct PageDumpTask {
    HostPid pid;      ///< living thread of the process, for process_vm_readv(2)
    TreePid imageId;  ///< pid of the process in image names
    const kernel::ProcPid& process;
    kernel::PagemapScanner::Mode mode = kernel::PagemapScanner::Mode::Auto;
    /// Record of written pages since the parent dump. Clean pages that the parent dump has aren't dumped. If null, all
    /// pages are dumped.
    const WriteTracking* tracking = nullptr;
    const ParentPages* parent = nullptr;
    /// Lazy areas whose pages stay in the process; images mark these pages as lazy. If null, all pages are dumped.
    const LazyAreas* staying = nullptr;
    /// Descriptor of /proc/PID/mem of a stopped clone from which criu reads the pages. If -1, criu reads them from the
    /// process.
    int clone = -1;
    /// Bytes of private pages if the mappings lack the sizes of smaps; otherwise 0. Then needs Mode::Scan.
    std::uint64_t uncountedBytes = 0;
};

/// Writes the private pages of one frozen process to a new sink of `sinks`. Adds guard regions to `memory`.
PageDumpResult dumpPages(const PageDumpTask& task, DumpedMemory& memory, PageSinks& sinks, Drainer& drainer,
                         Arena& arena);

/// Pages of one frozen process that a pre-dump copies when the process runs again. Huge pages and untracked mappings
/// are excluded, because the final dump copies them.
struct FoundPages {
    /// Returns the number of bytes to copy.
    [[nodiscard]] std::uint64_t contentBytes() const noexcept;

    std::vector<DrainJob> jobs;
    std::uint64_t scanned = 0;   ///< size of the searched mappings in pages
    std::uint64_t inParent = 0;  ///< number of pages that the parent dump has
};
[[nodiscard]] FoundPages findPages(const PageDumpTask& task, const DumpedMemory& memory);

}  // namespace criu::memory
