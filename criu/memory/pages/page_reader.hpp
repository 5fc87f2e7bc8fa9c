// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "criu/memory/pages/page_source.hpp"
#include "criu/memory/pages/read_watch.hpp"

namespace criu::memory {

/// Present pages that belong at an address of this process.
struct PlacedPages {
    PageJob job;
    std::uint64_t at = 0;
};

/// Reads pages of a source into this process' memory. What it opens for that is closed with it.
class PageReader {
public:
    /// `checkStop` is called between pieces, from any thread, and throws if the work is to end; may be empty.
    explicit PageReader(const PageSource& source, std::function<void()> checkStop = {}, ReadWatch watch = {});

    /// Reads all of them. Large amounts are spread over threads, which have all ended when this returns. Throws Error,
    /// also for pages that aren't present.
    void read(std::span<const PlacedPages> pages);

    /// From now on content is freed as soon as read(pages) has read it (--auto-dedup). Before the first read.
    void freeWhatIsRead() noexcept { frees_ = true; }

    /// Reads as much as `into` takes from the beginning of a job, in the calling thread. Throws Error.
    void read(const PageJob& job, std::span<std::byte> into);

private:
    struct Batch;
    static std::vector<Batch> makeBatches(std::span<const PlacedPages> pages);
    void readBatch(Batch& batch) const;
    const PageContent& content(std::size_t layer);

    const PageSource& source_;
    std::function<void()> checkStop_;
    ReadWatch watch_;
    bool frees_ = false;
    std::vector<std::unique_ptr<PageContent>> contents_;  ///< by layer; null while nobody wanted it
};

}  // namespace criu::memory
