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

/// Page size in images, which doesn't depend on the machine.
inline constexpr std::uint64_t kImagePageSize = 4096;

/// Flags of a run of pages (pagemap_entry.flags). They tell where criu finds the content.
enum class PageFlags : std::uint32_t {
    None = 0,
    Parent = 1 << 0,   ///< The parent images have the content.
    Lazy = 1 << 1,     ///< The pages are lazy pages. Without Present, the images lack their content.
    Present = 1 << 2,  ///< The pages file of this dump has the content.
};

constexpr PageFlags operator|(PageFlags left, PageFlags right) noexcept {
    return static_cast<PageFlags>(static_cast<std::uint32_t>(left) | static_cast<std::uint32_t>(right));
}
constexpr bool has(PageFlags set, PageFlags flag) noexcept {
    return (static_cast<std::uint32_t>(set) & static_cast<std::uint32_t>(flag)) != 0;
}

/// Run of pages. Pages outside of all runs are zero, or have the content of the mapped file.
struct PagemapRange {
    std::uint64_t vaddr;  ///< Address of the first byte; in a shared segment, its offset. Multiple of the page size.
    std::uint64_t pages;  ///< Number of pages, at least 1.
    PageFlags flags;      ///< Flags of all pages; never both Parent and Present.
    /// Total bytes of all Present ranges before this range: the position that PageStripes converts to a file and an
    /// offset.
    std::uint64_t contentOffset;

    [[nodiscard]] std::uint64_t end() const noexcept;
    [[nodiscard]] std::uint64_t bytes() const noexcept;
    friend bool operator==(const PagemapRange&, const PagemapRange&) = default;
};

/// Distribution of a pagemap's content over several pages files. The content is cut into pieces of equal size; piece N
/// is in file N modulo the number of files. CRIU 4.2 reads only one pages file.
/// The kernel's inode lock lets one thread at a time write to a file, so several files are faster.
struct PageStripes {
    /// Location of content in a pages file.
    struct Place {
        std::size_t file = 0;        ///< index of the file in `files`
        std::uint64_t offset = 0;    ///< offset in the file in bytes
        std::uint64_t together = 0;  ///< bytes of content from `offset` on that are consecutive in this file
    };

    /// Maximum number of pages files of a pagemap: criu keeps all of them open while it reads content.
    static constexpr std::size_t kMostFiles = 256;
    /// Maximum size of a piece in bytes.
    static constexpr std::uint64_t kLongestPiece = std::uint64_t{1} << 30;

    std::vector<std::uint32_t> files;  ///< numbers in the names of the pages files; at least one
    std::uint64_t piece = 0;           ///< bytes of a piece, a multiple of kImagePageSize; ignored if there is one file

    [[nodiscard]] Place place(std::uint64_t position) const noexcept;

    /// Returns the size of the file with the index `file` if the pagemap has `contentSize` bytes of content.
    [[nodiscard]] std::uint64_t sizeOf(std::size_t file, std::uint64_t contentSize) const noexcept;

    friend bool operator==(const PageStripes&, const PageStripes&) = default;
};

/// Block of consecutive content of a compressed pagemap, and its location in the pages file.
struct StoredBlock {
    std::uint64_t position = 0;  ///< position of the first byte in the content
    std::uint64_t bytes = 0;     ///< bytes of content
    std::uint64_t offset = 0;    ///< offset in the pages file in bytes
    /// Bytes in the pages file: equal to `bytes` if the block isn't compressed, 0 if it has only zeroes.
    std::uint64_t stored = 0;

    [[nodiscard]] std::uint64_t end() const noexcept { return position + bytes; }
    friend bool operator==(const StoredBlock&, const StoredBlock&) = default;
};

/// Stored sizes of a range's blocks in bytes. All blocks except the last have the same number of pages.
struct BlockSizes {
    std::span<const std::uint32_t> stored;
    std::uint64_t pagesEach = 0;
};

/// Pagemap that criu has read and checked. Ranges are aligned, in ascending order, and don't overlap. No sum of sizes
/// overflows.
class Pagemap {
public:
    /// Reads an open pagemap. Also accepts old forms of entries (in_parent, 32-bit number of pages). Throws Error.
    explicit Pagemap(ImageReader file);

    /// Reads the pagemap of a kind and a number; returns nullopt if there is no such file. Throws Error.
    static std::optional<Pagemap> load(const ImageDir& dir, ImageKind kind, std::uint64_t id);

    /// Returns the distribution of the content over pages files.
    [[nodiscard]] const PageStripes& stripes() const noexcept { return stripes_; }
    [[nodiscard]] std::span<const PagemapRange> ranges() const noexcept { return ranges_; }
    /// Returns the number of bytes of content. Without compression, the sizes of the pages files add up to this number.
    [[nodiscard]] std::uint64_t contentSize() const noexcept { return contentSize_; }
    /// Returns the codec's number in images; 0 if the content isn't compressed.
    [[nodiscard]] std::uint32_t codec() const noexcept { return codec_; }
    /// Returns the blocks of a compressed pagemap in ascending order of position.
    [[nodiscard]] std::span<const StoredBlock> blocks() const noexcept { return blocks_; }
    /// Makes this pagemap refer to an uncompressed pages file that has the content of all blocks at their positions.
    void becomeUncompressed() noexcept;
    /// Returns the checksum (Checksum) of each page of content, in ascending order of position; empty if the images
    /// contain no checksums.
    [[nodiscard]] std::span<const std::uint32_t> checksums() const noexcept { return checksums_; }

    /// Returns the range that contains an address, or null.
    [[nodiscard]] const PagemapRange* find(std::uint64_t vaddr) const noexcept;
    /// Returns the ranges that end after `vaddr`.
    [[nodiscard]] std::span<const PagemapRange> from(std::uint64_t vaddr) const noexcept;

    /// Opens the pages files with flags of open(2), in the order of stripes(), and checks their sizes. Returns an empty
    /// list if a file is missing and no range is Present. Throws Error.
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
    std::uint64_t fileEnd_ = 0;  ///< offset in the pages file at which the last block ends
    bool aligned_ = false;       ///< true if the next stored block begins at a page boundary of the pages file
    bool summed_ = false;        ///< true if the content has checksums
    std::vector<std::uint32_t> checksums_;
    std::vector<PagemapRange> ranges_;
};

/// Writer of a pagemap image. Ranges must be in ascending order of address. Merges adjacent ranges with equal flags.
/// The caller writes the content of pages into pages files in the same order.
class PagemapWriter {
public:
    /// Becomes the owner of `file`, a new pagemap image. `codec`: result of Pagemap::codec(); if it isn't 0, `stripes`
    /// must have one file. `summed`: true if all content has checksums.
    PagemapWriter(ImageWriter file, const PageStripes& stripes, std::uint32_t codec = 0, bool summed = false);

    /// Adds a range. `checksums`: checksum of each page with content; empty if the content has no checksums.
    void add(std::uint64_t vaddr, std::uint64_t pages, PageFlags flags, std::span<const std::uint32_t> checksums = {});

    /// Adds a Present range whose content is compressed. `blocks`: stored sizes of its blocks.
    void addBlocks(std::uint64_t vaddr, std::uint64_t pages, PageFlags flags, const BlockSizes& blocks,
                   std::span<const std::uint32_t> checksums = {});

    /// Returns the total bytes of all added Present ranges, which is the position of the next content.
    [[nodiscard]] std::uint64_t contentSize() const noexcept { return contentSize_; }

    /// Writes the last range and closes the file. Throws Error.
    void finish();

private:
    void begin(const PagemapRange& range, std::span<const std::uint32_t> checksums);
    void write(const PagemapRange& range, const BlockSizes* blocks, std::span<const std::uint32_t> checksums);
    void writePending();

    ImageWriter file_;
    bool summed_;
    PagemapRange pending_{};                       ///< range that isn't written yet; 0 pages if there is none
    std::vector<std::uint32_t> pendingChecksums_;  ///< checksums of the content of pending_
    std::uint64_t end_ = 0;                        ///< end of the last written range
    std::uint64_t contentSize_ = 0;
};

}  // namespace criu
