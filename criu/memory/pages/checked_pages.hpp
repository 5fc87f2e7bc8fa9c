// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "criu/image/checksum.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/memory/pages/page_source.hpp"

/// Checksums of pages, for every storage form. A dump computes them from the content that it writes to a sink. A
/// restore compares them with the content that it reads.
namespace criu::memory {

/// Checksums of content that several threads add in blocks.
class PageSums {
public:
    /// `checksum` must outlive this object.
    explicit PageSums(const Checksum& checksum) noexcept : checksum_(checksum) {}

    /// Adds a block. Must precede PageSink::write() of the block.
    void add(const PageBlock& block);

    /// Returns the checksums of all pages in ascending order of positions. `bytes`: total size of the content. Throws
    /// Error if content is missing. The caller must not use this object afterwards.
    [[nodiscard]] std::vector<std::uint32_t> take(std::uint64_t bytes);

private:
    const Checksum& checksum_;
    std::mutex mutex_;
    /// Checksums of the pages of each block; the key is the position of the block.
    std::map<std::uint64_t, std::vector<std::uint32_t>> blocks_;
};

/// Returns a PageContent that reads from `content` and compares each page with its checksum. `sums`: one checksum per
/// page, in ascending order of positions; the array must outlive the result.
[[nodiscard]] std::unique_ptr<PageContent> checkedContent(std::unique_ptr<PageContent> content,
                                                          std::span<const std::uint32_t> sums,
                                                          std::shared_ptr<const Checksum> checksum);

}  // namespace criu::memory
