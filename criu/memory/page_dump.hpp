// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>

#include "criu/base/ids.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/pagemap.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/memory/drain.hpp"
#include "criu/memory/page_sink.hpp"
#include "criu/memory/vma_dump.hpp"

namespace criu::memory {

/// What dumpPages() did. Pages are of 4 KiB.
struct PageDumpResult {
    std::uint64_t pagesScanned = 0;       ///< pages that the private mappings have room for
    std::uint64_t pagesWritten = 0;       ///< that have content, pages of zeroes included
    std::chrono::microseconds finding{};  ///< looking at page tables; threads may copy meanwhile
    std::chrono::microseconds moving{};   ///< copying what was left by then
};

/// Whose pages are dumped.
struct PageDumpTask {
    HostPid pid;
    TreePid imageId;  ///< names the image
    const kernel::ProcPid& process;
    kernel::PagemapScanner::Mode mode = kernel::PagemapScanner::Mode::Auto;
};

/// Puts the private pages of one stopped process into a sink. Guard regions found on the way are added to `memory`.
PageDumpResult dumpPages(const PageDumpTask& task, DumpedMemory& memory, PageSinks& sinks, Drainer& drainer,
                         Arena& arena);

}  // namespace criu::memory
