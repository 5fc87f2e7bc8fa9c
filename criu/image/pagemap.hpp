// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/image/writer.hpp"

namespace criu {

class ImageDir;
enum class ImageKind : std::uint8_t;
class ImageReader;

/// The pages that images count in: of this size on every machine, whatever its own pages are.
inline constexpr std::uint64_t kImagePageSize = 4096;

/// Where the contents of a run of pages are: pagemap_entry.flags.
enum class PageFlags : std::uint32_t {
    None = 0,
    Parent = 1 << 0,   ///< In the parent dump.
    Lazy = 1 << 1,     ///< May come after the process runs again; without Present it isn't in the images at all.
    Present = 1 << 2,  ///< In this dump's pages file.
};

constexpr PageFlags operator|(PageFlags left, PageFlags right) noexcept {
    return static_cast<PageFlags>(static_cast<std::uint32_t>(left) | static_cast<std::uint32_t>(right));
}
constexpr bool has(PageFlags set, PageFlags flag) noexcept {
    return (static_cast<std::uint32_t>(set) & static_cast<std::uint32_t>(flag)) != 0;
}

/// Consecutive pages of equal flags. Pages that no range covers are zero, or as in the mapped file.
struct PagemapRange {
    std::uint64_t vaddr;          ///< First byte's address; for shared memory its offset in the segment. Page aligned.
    std::uint64_t pages;          ///< At least 1.
    PageFlags flags;              ///< Never both Parent and Present.
    std::uint64_t contentOffset;  ///< Bytes of Present ranges before it; in CRIU 4.2's pages files the offset.

    [[nodiscard]] std::uint64_t end() const noexcept;
    [[nodiscard]] std::uint64_t bytes() const noexcept;
    friend bool operator==(const PagemapRange&, const PagemapRange&) = default;
};

/// One pagemap file, read and checked as a whole: ranges are aligned, sorted and disjoint, and no sum overflows.
class Pagemap {
public:
    /// Reads all of an open pagemap. Old forms of entries (in_parent, counts in the 32-bit field) are understood.
    explicit Pagemap(ImageReader file);

    /// Reads ImageKind::Pagemap or ShmemPagemap; nothing if there is no such file.
    static std::optional<Pagemap> load(const ImageDir& dir, ImageKind kind, std::uint64_t id);

    /// Number of the pages file.
    [[nodiscard]] std::uint32_t pagesId() const noexcept { return pagesId_; }
    [[nodiscard]] std::span<const PagemapRange> ranges() const noexcept { return ranges_; }
    /// Bytes that the pages file must have.
    [[nodiscard]] std::uint64_t contentSize() const noexcept { return contentSize_; }

    /// The range that covers an address, or null.
    [[nodiscard]] const PagemapRange* find(std::uint64_t vaddr) const noexcept;
    /// Ranges from the first one that ends behind `vaddr` on.
    [[nodiscard]] std::span<const PagemapRange> from(std::uint64_t vaddr) const noexcept;

    /// Opens the pages file (flags as open(2)) and checks that it is large enough. It may only be missing when no
    /// range is Present; then nothing is returned.
    [[nodiscard]] std::optional<UniqueFd> openPages(const ImageDir& dir, int flags) const;

private:
    void append(std::uint64_t vaddr, std::uint64_t pages, PageFlags flags);

    std::uint32_t pagesId_ = 0;
    std::uint64_t contentSize_ = 0;
    std::vector<PagemapRange> ranges_;
};

/// Writes a pagemap file. Ranges must come in ascending order; a range that continues its predecessor with equal flags
/// is merged with it. The pages themselves are the caller's to write, in the same order.
class PagemapWriter {
public:
    /// Takes over a fresh ImageKind::Pagemap or ShmemPagemap.
    PagemapWriter(ImageWriter file, std::uint32_t pagesId);

    void add(std::uint64_t vaddr, std::uint64_t pages, PageFlags flags);

    /// Bytes of the Present ranges so far: where the next one's contents begin in the pages file.
    [[nodiscard]] std::uint64_t contentSize() const noexcept { return contentSize_; }

    /// Writes the last range and closes the file.
    void finish();

private:
    void writePending();

    ImageWriter file_;
    PagemapRange pending_{};
    std::uint64_t contentSize_ = 0;
};

}  // namespace criu
