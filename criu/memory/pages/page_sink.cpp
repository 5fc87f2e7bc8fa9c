// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/page_sink.hpp"

namespace criu::memory {

std::uint64_t PageSink::add(std::span<const PageRun> runs) {
    const std::uint64_t first = contentSize_;
    std::uint64_t size = first;
    for (const PageRun& run : runs)
        if (has(run.flags, PageFlags::Present))
            size += run.bytes;
    append(runs, size);
    contentSize_ = size;
    return first;
}

}  // namespace criu::memory
