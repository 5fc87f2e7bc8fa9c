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
    std::uint64_t contentOffset;  ///< Bytes of Present ranges before it: where PageStripes has its content.

    [[nodiscard]] std::uint64_t end() const noexcept;
    [[nodiscard]] std::uint64_t bytes() const noexcept;
    friend bool operator==(const PagemapRange&, const PagemapRange&) = default;
};

/// How the content of a pagemap is spread over pages files: in pieces, which go to the files in turn. One file, and the
/// content as it comes, is all that CRIU 4.2 knows. A kernel lets one thread at a time write to a file (the lock of its
/// inode), so several files take several times as much.
struct PageStripes {
    /// A place in one of the files.
    struct Place {
        std::size_t file = 0;        ///< index
        std::uint64_t offset = 0;    ///< bytes
        std::uint64_t together = 0;  ///< bytes from here on that lie behind one another
    };

    /// The most files that a pagemap may name: each is open while content is read.
    static constexpr std::size_t kMostFiles = 256;
    /// The longest piece.
    static constexpr std::uint64_t kLongestPiece = std::uint64_t{1} << 30;

    std::vector<std::uint32_t> files;  ///< numbers of the pages files, at least one
    std::uint64_t piece = 0;           ///< bytes, a multiple of kImagePageSize; of no importance if there is one file

    [[nodiscard]] Place place(std::uint64_t position) const noexcept;

    /// Bytes that file number `file` (an index) has of a content of `contentSize` bytes.
    [[nodiscard]] std::uint64_t sizeOf(std::size_t file, std::uint64_t contentSize) const noexcept;

    friend bool operator==(const PageStripes&, const PageStripes&) = default;
};

/// Consecutive content of a compressed pagemap, and where it is in the pages file.
struct StoredBlock {
    std::uint64_t position = 0;  ///< of its first byte in the content
    std::uint64_t bytes = 0;     ///< of content
    std::uint64_t offset = 0;    ///< in the file
    std::uint64_t stored = 0;    ///< bytes in the file: `bytes` if it isn't compressed, 0 if it is all zeroes

    [[nodiscard]] std::uint64_t end() const noexcept { return position + bytes; }
    friend bool operator==(const StoredBlock&, const StoredBlock&) = default;
};

/// What the blocks of one range take in the file. All but the last have the same number of pages.
struct BlockSizes {
    std::span<const std::uint32_t> stored;
    std::uint64_t pagesEach = 0;
};

/// One pagemap file, read and checked as a whole: ranges are aligned, sorted and disjoint, and no sum overflows.
class Pagemap {
public:
    /// Reads all of an open pagemap. Old forms of entries (in_parent, counts in the 32-bit field) are understood.
    explicit Pagemap(ImageReader file);

    /// Reads ImageKind::Pagemap or ShmemPagemap; nothing if there is no such file.
    static std::optional<Pagemap> load(const ImageDir& dir, ImageKind kind, std::uint64_t id);

    /// The pages files.
    [[nodiscard]] const PageStripes& stripes() const noexcept { return stripes_; }
    [[nodiscard]] std::span<const PagemapRange> ranges() const noexcept { return ranges_; }
    /// Bytes of content, which the pages files must have together if it isn't compressed.
    [[nodiscard]] std::uint64_t contentSize() const noexcept { return contentSize_; }
    /// How content is compressed, as images number it; 0: it isn't.
    [[nodiscard]] std::uint32_t codec() const noexcept { return codec_; }
    /// If it is: all content, in order of position.
    [[nodiscard]] std::span<const StoredBlock> blocks() const noexcept { return blocks_; }
    /// A checksum (Checksum) for each page of the content, in order of position; empty if there are none.
    [[nodiscard]] std::span<const std::uint32_t> checksums() const noexcept { return checksums_; }

    /// The range that covers an address, or null.
    [[nodiscard]] const PagemapRange* find(std::uint64_t vaddr) const noexcept;
    /// Ranges from the first one that ends behind `vaddr` on.
    [[nodiscard]] std::span<const PagemapRange> from(std::uint64_t vaddr) const noexcept;

    /// Opens the pages files (flags as open(2)), in the order of stripes(), and checks that each is large enough. None
    /// is returned if there are none, which may be if no range is Present. Throws Error.
    [[nodiscard]] std::vector<UniqueFd> openPages(const ImageDir& dir, int flags) const;

private:
    void append(std::uint64_t vaddr, std::uint64_t pages, PageFlags flags);
    void appendBlocks(const PagemapRange& range, const BlockSizes* blocks);
    void appendBlock(std::uint64_t bytes, std::uint64_t stored);
    void appendChecksums(const PagemapRange& range, std::span<const std::uint32_t> checksums);
    [[nodiscard]] std::uint64_t sizeOf(std::size_t file) const noexcept;

    PageStripes stripes_;
    std::uint64_t contentSize_ = 0;
    std::uint32_t codec_ = 0;
    std::vector<StoredBlock> blocks_;
    bool summed_ = false;  ///< there are checksums
    std::vector<std::uint32_t> checksums_;
    std::vector<PagemapRange> ranges_;
};

/// Writes a pagemap file. Ranges must come in ascending order; a range that continues its predecessor with equal flags
/// is merged with it. The pages themselves are the caller's to write, in the same order.
class PagemapWriter {
public:
    /// Takes over a fresh pagemap. `codec`: see Pagemap; with one there is one file. `summed`: all content has
    /// checksums.
    PagemapWriter(ImageWriter file, const PageStripes& stripes, std::uint32_t codec = 0, bool summed = false);

    /// `checksums`: of each page, if the content has any.
    void add(std::uint64_t vaddr, std::uint64_t pages, PageFlags flags, std::span<const std::uint32_t> checksums = {});

    /// A range whose content was cut into blocks.
    void addBlocks(std::uint64_t vaddr, std::uint64_t pages, PageFlags flags, const BlockSizes& blocks,
                   std::span<const std::uint32_t> checksums = {});

    /// Bytes of the Present ranges so far: the position of the next one's content.
    [[nodiscard]] std::uint64_t contentSize() const noexcept { return contentSize_; }

    /// Writes the last range and closes the file.
    void finish();

private:
    void begin(const PagemapRange& range, std::span<const std::uint32_t> checksums);
    void write(const PagemapRange& range, const BlockSizes* blocks, std::span<const std::uint32_t> checksums);
    void writePending();

    ImageWriter file_;
    bool summed_;
    PagemapRange pending_{};                       ///< not written yet; no pages: nothing
    std::vector<std::uint32_t> pendingChecksums_;  ///< of its content
    std::uint64_t end_ = 0;                        ///< of what is written
    std::uint64_t contentSize_ = 0;
};

}  // namespace criu
