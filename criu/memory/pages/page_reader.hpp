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

/// Present pages with their address in this process.
struct PlacedPages {
    PageJob job;
    std::uint64_t at = 0;
};

/// Reads pages of a source into this process' memory. Closes the files that it opened.
class PageReader {
public:
    /// `checkStop` is called between pieces, from any thread, and throws to end the work; may be empty.
    explicit PageReader(const PageSource& source, std::function<void()> checkStop = {}, ReadWatch watch = {});

    /// Reads all pages. Uses threads for large amounts, which have ended when it returns. Throws Error, also for
    /// pages that aren't present.
    void read(std::span<const PlacedPages> pages);

    /// Frees storage of content that read(pages) has read (--auto-dedup). Must precede the first read.
    void freeWhatIsRead() noexcept { frees_ = true; }

    /// Limits the threads of read(pages); 0 means all processors.
    void limitThreads(unsigned most) noexcept { mostThreads_ = most; }

    /// Fills `into` from the beginning of a job, in the calling thread. Throws Error.
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
    unsigned mostThreads_ = 0;
    std::vector<std::unique_ptr<PageContent>> contents_;  ///< by layer; null until needed
};

}  // namespace criu::memory
