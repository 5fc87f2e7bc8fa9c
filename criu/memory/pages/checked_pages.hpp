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

/// Checksums of pages, whatever the form they are stored in: taken of the content that a sink is given, and compared
/// with what is read of it.
namespace criu::memory {

/// Takes checksums of content, which comes in blocks and from several threads.
class PageSums {
public:
    /// `checksum` outlives this object.
    explicit PageSums(const Checksum& checksum) noexcept : checksum_(checksum) {}

    /// Before PageSink::write() writes the block.
    void add(const PageBlock& block);

    /// All content has come, `bytes` of it: checksums of its pages, in the order of positions. Throws Error if some is
    /// missing. The object is used up.
    [[nodiscard]] std::vector<std::uint32_t> take(std::uint64_t bytes);

private:
    const Checksum& checksum_;
    std::mutex mutex_;
    std::map<std::uint64_t, std::vector<std::uint32_t>> blocks_;  ///< by position
};

/// Content that is compared with its checksums as it is read. `sums`: one for each page, in the order of positions,
/// which outlive it.
[[nodiscard]] std::unique_ptr<PageContent> checkedContent(std::unique_ptr<PageContent> content,
                                                          std::span<const std::uint32_t> sums,
                                                          std::shared_ptr<const Checksum> checksum);

}  // namespace criu::memory
