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

/// Page size of images, independent of the machine's page size.
inline constexpr std::uint64_t kImagePageSize = 4096;

/// Place of the content of a run of pages: pagemap_entry.flags.
enum class PageFlags : std::uint32_t {
    None = 0,
    Parent = 1 << 0,   ///< In the parent images.
    Lazy = 1 << 1,     ///< A lazy page. Without Present, the images don't have it.
    Present = 1 << 2,  ///< In this dump's pages file.
};

constexpr PageFlags operator|(PageFlags left, PageFlags right) noexcept {
    return static_cast<PageFlags>(static_cast<std::uint32_t>(left) | static_cast<std::uint32_t>(right));
}
constexpr bool has(PageFlags set, PageFlags flag) noexcept {
    return (static_cast<std::uint32_t>(set) & static_cast<std::uint32_t>(flag)) != 0;
}

/// A run of pages. Pages outside of all ranges are zero, or have the content of the mapped file.
struct PagemapRange {
    std::uint64_t vaddr;          ///< Address of the first byte, or offset in a shared segment. Page aligned.
    std::uint64_t pages;          ///< At least 1.
    PageFlags flags;              ///< Never both Parent and Present.
    std::uint64_t contentOffset;  ///< Bytes of Present ranges before this one: position for PageStripes.

    [[nodiscard]] std::uint64_t end() const noexcept;
    [[nodiscard]] std::uint64_t bytes() const noexcept;
    friend bool operator==(const PagemapRange&, const PagemapRange&) = default;
};

/// Distribution of a pagemap's content over several pages files, in pieces of equal size in turn. CRIU 4.2 only
/// reads one file with consecutive content. The kernel's inode lock lets one thread at a time write to a file, so
/// several files are faster.
struct PageStripes {
    /// Place in one of the files.
    struct Place {
        std::size_t file = 0;        ///< index
        std::uint64_t offset = 0;    ///< bytes
        std::uint64_t together = 0;  ///< consecutive bytes from here on
    };

    /// Limit of pages files of a pagemap: criu holds each open while it reads content.
    static constexpr std::size_t kMostFiles = 256;
    /// Maximum size of a piece in bytes.
    static constexpr std::uint64_t kLongestPiece = std::uint64_t{1} << 30;

    std::vector<std::uint32_t> files;  ///< numbers of the pages files, at least one
    std::uint64_t piece = 0;           ///< bytes, a multiple of kImagePageSize; ignored for one file

    [[nodiscard]] Place place(std::uint64_t position) const noexcept;

    /// Returns the bytes of a content of `contentSize` bytes that the file with index `file` has.
    [[nodiscard]] std::uint64_t sizeOf(std::size_t file, std::uint64_t contentSize) const noexcept;

    friend bool operator==(const PageStripes&, const PageStripes&) = default;
};

/// Consecutive content of a compressed pagemap, and its place in the pages file.
struct StoredBlock {
    std::uint64_t position = 0;  ///< position of its first byte in the content
    std::uint64_t bytes = 0;     ///< bytes of content
    std::uint64_t offset = 0;    ///< offset in the file
    std::uint64_t stored = 0;    ///< bytes in the file: equal to `bytes` if not compressed, 0 for zeroes

    [[nodiscard]] std::uint64_t end() const noexcept { return position + bytes; }
    friend bool operator==(const StoredBlock&, const StoredBlock&) = default;
};

/// Stored sizes of a range's blocks. All blocks except the last have the same number of pages.
struct BlockSizes {
    std::span<const std::uint32_t> stored;
    std::uint64_t pagesEach = 0;
};

/// A pagemap that was read and checked completely: ranges are aligned, sorted and disjoint, and no sum overflows.
class Pagemap {
public:
    /// Reads an open pagemap, with old forms of entries too (in_parent, counts in the 32-bit field). Throws Error.
    explicit Pagemap(ImageReader file);

    /// Reads ImageKind::Pagemap or ShmemPagemap; returns nothing without such a file.
    static std::optional<Pagemap> load(const ImageDir& dir, ImageKind kind, std::uint64_t id);

    /// Returns the distribution of content over the pages files.
    [[nodiscard]] const PageStripes& stripes() const noexcept { return stripes_; }
    [[nodiscard]] std::span<const PagemapRange> ranges() const noexcept { return ranges_; }
    /// Returns the bytes of content. Uncompressed pages files have this size in total.
    [[nodiscard]] std::uint64_t contentSize() const noexcept { return contentSize_; }
    /// Returns the number of the codec in images; 0 if not compressed.
    [[nodiscard]] std::uint32_t codec() const noexcept { return codec_; }
    /// Returns the blocks of a compressed pagemap in order of position.
    [[nodiscard]] std::span<const StoredBlock> blocks() const noexcept { return blocks_; }
    /// Returns a checksum (Checksum) for each page of the content in order of position; empty without checksums.
    [[nodiscard]] std::span<const std::uint32_t> checksums() const noexcept { return checksums_; }

    /// Returns the range that contains an address, or null.
    [[nodiscard]] const PagemapRange* find(std::uint64_t vaddr) const noexcept;
    /// Returns the ranges that end after `vaddr`.
    [[nodiscard]] std::span<const PagemapRange> from(std::uint64_t vaddr) const noexcept;

    /// Opens the pages files with flags of open(2), in the order of stripes(), and checks their sizes. Returns none
    /// if there are no files, which is valid if no range is Present. Throws Error.
    [[nodiscard]] std::vector<UniqueFd> openPages(const ImageDir& dir, int flags) const;

private:
    void append(std::uint64_t vaddr, std::uint64_t pages, PageFlags flags);
    void appendBlocks(const PagemapRange& range, const BlockSizes* blocks);
    void appendBlock(std::uint64_t bytes, std::uint64_t stored);
    void becomeBlocks();
    void appendChecksums(const PagemapRange& range, std::span<const std::uint32_t> checksums);
    [[nodiscard]] std::uint64_t sizeOf(std::size_t file) const noexcept;

    PageStripes stripes_;
    std::uint64_t contentSize_ = 0;
    std::uint32_t codec_ = 0;
    std::vector<StoredBlock> blocks_;
    std::uint64_t fileEnd_ = 0;  ///< end of the last block in the file
    bool aligned_ = false;       ///< the next stored block begins at a page boundary of the file
    bool summed_ = false;        ///< the content has checksums
    std::vector<std::uint32_t> checksums_;
    std::vector<PagemapRange> ranges_;
};

/// Writer of a pagemap file. Ranges must ascend. It merges a range that continues the previous one with equal flags.
/// The caller writes the pages themselves in the same order.
class PagemapWriter {
public:
    /// Takes over a new pagemap. A `codec` (Pagemap::codec()) requires a single pages file. `summed` is true if all
    /// content has checksums.
    PagemapWriter(ImageWriter file, const PageStripes& stripes, std::uint32_t codec = 0, bool summed = false);

    /// Adds a range. `checksums` are those of each page, if content has checksums.
    void add(std::uint64_t vaddr, std::uint64_t pages, PageFlags flags, std::span<const std::uint32_t> checksums = {});

    /// Adds a range with compressed content.
    void addBlocks(std::uint64_t vaddr, std::uint64_t pages, PageFlags flags, const BlockSizes& blocks,
                   std::span<const std::uint32_t> checksums = {});

    /// Returns the bytes of Present ranges so far, which is the position of the next content.
    [[nodiscard]] std::uint64_t contentSize() const noexcept { return contentSize_; }

    /// Writes the last range and closes the file. Throws Error.
    void finish();

private:
    void begin(const PagemapRange& range, std::span<const std::uint32_t> checksums);
    void write(const PagemapRange& range, const BlockSizes* blocks, std::span<const std::uint32_t> checksums);
    void writePending();

    ImageWriter file_;
    bool summed_;
    PagemapRange pending_{};                       ///< not yet written; 0 pages: none
    std::vector<std::uint32_t> pendingChecksums_;  ///< checksums of the content of pending_
    std::uint64_t end_ = 0;                        ///< end of the last written range
    std::uint64_t contentSize_ = 0;
};

}  // namespace criu
