// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/checked_pages.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/memory/pages/read_targets.hpp"

namespace criu::memory {
namespace {

static_assert(kChecksumPiece == kImagePageSize);

/// Number of bytes that criu reads before it compares their checksums. It is small, so that the content is still in the
/// processor's cache during the comparison.
constexpr std::uint64_t kCheckedStep = std::uint64_t{256} << 10;

class CheckedContent final : public PageContent {
public:
    CheckedContent(std::unique_ptr<PageContent> content, std::span<const std::uint32_t> sums,
                   std::shared_ptr<const Checksum> checksum) noexcept
        : content_(std::move(content)), sums_(sums), checksum_(std::move(checksum)) {}

    void read(std::uint64_t position, std::span<iovec> targets) const override {
        if (position % kImagePageSize != 0 || sizeOf(targets) % kImagePageSize != 0)
            return readParts(position, targets);
        while (!targets.empty()) {
            const std::vector<iovec> step = takeFront(targets, kCheckedStep);
            std::vector<iovec> used = step;
            content_->read(position, used);
            position = compare(position, step);
        }
    }

    void free(std::uint64_t position, std::uint64_t bytes) const override { content_->free(position, bytes); }

    [[nodiscard]] std::string where(std::uint64_t position) const override { return content_->where(position); }

private:
    /// Reads parts of pages. Reads complete pages for this, because each checksum covers a complete page.
    void readParts(std::uint64_t position, std::span<iovec> targets) const {
        const std::uint64_t within = position % kImagePageSize;
        const std::uint64_t bytes = within + sizeOf(targets);
        std::vector<std::byte> pages((bytes + kImagePageSize - 1) / kImagePageSize * kImagePageSize);
        iovec whole{pages.data(), pages.size()};
        read(position - within, {&whole, 1});
        const std::byte* from = pages.data() + within;
        for (const iovec& target : targets) {
            std::memcpy(target.iov_base, from, target.iov_len);
            from += target.iov_len;
        }
    }

    /// Compares the checksums of content that was read. Returns the position after this content.
    std::uint64_t compare(std::uint64_t position, std::span<const iovec> targets) const {
        std::array<std::byte, kImagePageSize> split;
        std::size_t filled = 0;  // number of bytes in `split`, which collects a page whose parts are in several targets
        for (const iovec& target : targets) {
            std::span<const std::byte> rest(static_cast<const std::byte*>(target.iov_base), target.iov_len);
            while (!rest.empty()) {
                const std::size_t part = std::min(rest.size(), kImagePageSize - filled);
                std::span<const std::byte> page = rest.first(part);
                rest = rest.subspan(part);
                if (part < kImagePageSize) {
                    std::copy(page.begin(), page.end(), split.begin() + static_cast<std::ptrdiff_t>(filled));
                    filled += part;
                    if (filled < kImagePageSize)
                        continue;
                    page = split;
                    filled = 0;
                }
                require(position, page);
                position += kImagePageSize;
            }
        }
        return position;
    }

    void require(std::uint64_t position, std::span<const std::byte> page) const {
        const std::uint64_t index = position / kImagePageSize;
        if (index < sums_.size() && checksum_->of(page) == sums_[index])
            return;
        Error error(0, fmt::format("{}: a page is damaged: its checksum doesn't match", where(position)));
        error.addHint("restore it from a copy; --no-checksum takes images as they are");
        throw error;
    }

    const std::unique_ptr<PageContent> content_;
    const std::span<const std::uint32_t> sums_;
    const std::shared_ptr<const Checksum> checksum_;
};

}  // namespace

void PageSums::add(const PageBlock& block) {
    std::vector<std::uint32_t> sums;
    sums.reserve(block.bytes.size() / kImagePageSize);
    for (std::size_t at = 0; at < block.bytes.size(); at += kImagePageSize)
        sums.push_back(checksum_.of(block.bytes.subspan(at, kImagePageSize)));
    const std::lock_guard lock(mutex_);
    blocks_.emplace(block.position, std::move(sums));
}

std::vector<std::uint32_t> PageSums::take(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint32_t> all;
    all.reserve(bytes / kImagePageSize);
    for (const auto& [position, sums] : std::exchange(blocks_, {})) {
        if (position != all.size() * kImagePageSize)
            break;
        all.insert(all.end(), sums.begin(), sums.end());
    }
    if (all.size() * kImagePageSize != bytes)
        fail("there is content of {} bytes only, not of {}", all.size() * kImagePageSize, bytes);
    return all;
}

std::unique_ptr<PageContent> checkedContent(std::unique_ptr<PageContent> content, std::span<const std::uint32_t> sums,
                                            std::shared_ptr<const Checksum> checksum) {
    return std::make_unique<CheckedContent>(std::move(content), sums, std::move(checksum));
}

}  // namespace criu::memory
