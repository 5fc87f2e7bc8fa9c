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

class MissingMemory;

/// Present pages, and the address in this process to which PageReader reads them.
struct PlacedPages {
    PageJob job;
    std::uint64_t at = 0;
    bool missing = false;  ///< true if the address is in the MissingMemory of PageReader::fillMissing()
};

/// Reads pages of a source into the memory of this process. The destructor closes the opened files.
class PageReader {
public:
    /// `checkStop`: called between pieces, from any thread; throws to end the work; may be empty.
    explicit PageReader(const PageSource& source, std::function<void()> checkStop = {}, ReadWatch watch = {});

    /// Reads all pages. Uses threads for large amounts; all threads have ended when it returns. Throws Error, also for
    /// pages that aren't present.
    void read(std::span<const PlacedPages> pages);

    /// Makes read(pages) free the storage of content after it has read this content (--auto-dedup). Must precede the
    /// first read.
    void freeWhatIsRead() noexcept { frees_ = true; }

    /// Sets the maximum number of threads of read(pages); 0 means one per processor.
    void limitThreads(unsigned most) noexcept { mostThreads_ = most; }

    /// Returns true if pages of a present job can be copied to missing memory. Throws Error.
    [[nodiscard]] bool canCopy(const PageJob& job) { return content(job.layer).makeViews(); }

    /// Makes read(pages) copy pages with PlacedPages::missing to this memory. `memory` must outlive all reads.
    void fillMissing(const MissingMemory& memory) noexcept { missing_ = &memory; }

    /// Fills `into` with the first bytes of a job, in the calling thread. Throws Error.
    void read(const PageJob& job, std::span<std::byte> into);

private:
    struct Batch;
    static std::vector<Batch> makeBatches(std::span<const PlacedPages> pages);
    void readBatch(Batch& batch) const;
    void copyBatch(const Batch& batch) const;
    void requireReadable(const Batch& batch) const;
    PageContent& content(std::size_t layer);

    const PageSource& source_;
    std::function<void()> checkStop_;
    ReadWatch watch_;
    bool frees_ = false;
    unsigned mostThreads_ = 0;
    const MissingMemory* missing_ = nullptr;
    std::vector<std::unique_ptr<PageContent>> contents_;  ///< one element per layer; null until first used
};

}  // namespace criu::memory
