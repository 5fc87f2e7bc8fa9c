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

/// Checksums of pages in any storage form. They are computed from content that a sink gets, and compared with content
/// that is read.
namespace criu::memory {

/// Computes checksums of content that comes in blocks from several threads.
class PageSums {
public:
    /// `checksum` must outlive this object.
    explicit PageSums(const Checksum& checksum) noexcept : checksum_(checksum) {}

    /// Adds a block. Must precede PageSink::write() of the block.
    void add(const PageBlock& block);

    /// Returns the checksums of all pages, in order of positions. `bytes`: total content. Throws Error if content is
    /// missing. The object can't be used afterwards.
    [[nodiscard]] std::vector<std::uint32_t> take(std::uint64_t bytes);

private:
    const Checksum& checksum_;
    std::mutex mutex_;
    std::map<std::uint64_t, std::vector<std::uint32_t>> blocks_;  ///< by position
};

/// Returns a wrapper that compares content with its checksums when it is read. `sums`: one per page, in order of
/// positions; they must outlive the wrapper.
[[nodiscard]] std::unique_ptr<PageContent> checkedContent(std::unique_ptr<PageContent> content,
                                                          std::span<const std::uint32_t> sums,
                                                          std::shared_ptr<const Checksum> checksum);

}  // namespace criu::memory
