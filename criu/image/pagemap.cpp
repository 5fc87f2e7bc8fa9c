// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/pagemap.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/image/checksum.hpp"
#include "criu/image/image_dir.hpp"
#include "images/pagemap.hpp"

namespace criu {
namespace {

constexpr std::uint32_t kKnownFlags = 15;
/// Flag of CRIU 4.3 in a pagemap entry: the entry's content begins at the next page boundary of the pages file.
constexpr std::uint32_t kPayloadAligned = 8;
/// Codec of compressed images of CRIU 4.3: LZ4. Their pagemaps name no codec.
constexpr std::uint32_t kLz4Codec = 1;
/// Maximum bytes of a compressed block, because a reader allocates memory for a block.
constexpr std::uint64_t kLargestBlock = std::uint64_t{4} << 20;
/// Maximum pages of a pagemap entry with checksums, because a reader allocates memory for an entry.
constexpr std::uint64_t kMostSummed = std::uint64_t{1} << 18;

PageFlags flagsOf(const PagemapEntry& entry) {
    if (entry.has_in_parent != 0 && entry.in_parent != 0)
        return PageFlags::Parent;
    if (entry.has_flags == 0)
        return PageFlags::Present;
    if ((entry.flags & ~kKnownFlags) != 0)
        fail("range at {:#x} has unknown flags {:#x}", entry.vaddr, entry.flags);
    return static_cast<PageFlags>(entry.flags & ~kPayloadAligned);
}

bool isPayloadAligned(const PagemapEntry& entry) noexcept {
    return entry.has_flags != 0 && (entry.flags & kPayloadAligned) != 0;
}

std::uint64_t pagesOf(const PagemapEntry& entry) noexcept {
    return entry.has_nr_pages != 0 ? entry.nr_pages : entry.compat_nr_pages;
}

// Throws Error if a range is invalid. Readers and writers of pagemaps call this function. `from`: end of the previous
// range.
void checkRange(std::uint64_t vaddr, std::uint64_t pages, PageFlags flags, std::uint64_t from) {
    if (vaddr % kImagePageSize != 0)
        fail("range at {:#x} isn't page aligned", vaddr);
    if (pages == 0)
        fail("range at {:#x} is empty", vaddr);
    if (pages > (UINT64_MAX - vaddr) / kImagePageSize)
        fail("range at {:#x} of {} pages exceeds the address space", vaddr, pages);
    if (vaddr < from)
        fail("range at {:#x} begins before its predecessor's end at {:#x}", vaddr, from);
    if (has(flags, PageFlags::Parent) && has(flags, PageFlags::Present))
        fail("range at {:#x} claims to be both here and in the parent dump", vaddr);
}

void addContent(std::uint64_t& size, const PagemapRange& range) {
    if (!has(range.flags, PageFlags::Present))
        return;
    if (range.bytes() > INT64_MAX - size)
        fail("range at {:#x} of {} pages exceeds what a file can hold", range.vaddr, range.pages);
    size += range.bytes();
}

/// Value of PagemapHead.pages_id if all pages files of striped content are in more_pages_ids. No pages file has this
/// id. So CRIU 4.2, which doesn't know more_pages_ids, finds no content in a parent image instead of only a part of it.
constexpr std::uint32_t kNoPagesId = 0;

PageStripes stripesOf(const PagemapHead& head) {
    PageStripes stripes;
    if (head.pages_id != kNoPagesId || head.n_more_pages_ids == 0)
        stripes.files.push_back(head.pages_id);
    if (head.n_more_pages_ids == 0)
        return stripes;
    if (head.has_codec != 0 && head.codec != 0)
        fail("its content is compressed, and in several files");
    if (head.n_more_pages_ids >= PageStripes::kMostFiles)
        fail("its content is in {} files more, that is too many", head.n_more_pages_ids);
    stripes.files.insert(stripes.files.end(), head.more_pages_ids, head.more_pages_ids + head.n_more_pages_ids);
    std::vector<std::uint32_t> sorted = stripes.files;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        fail("its content is in one file twice");
    stripes.piece = head.stripe_pages * kImagePageSize;
    if (stripes.piece == 0 || stripes.piece > PageStripes::kLongestPiece)
        fail("its content is in pieces of {} pages", head.stripe_pages);
    return stripes;
}

}  // namespace

std::uint64_t PagemapRange::bytes() const noexcept {
    return pages * kImagePageSize;
}
std::uint64_t PagemapRange::end() const noexcept {
    return vaddr + bytes();
}

Pagemap::Pagemap(ImageReader file) {
    const auto head = file.one<PagemapHead>();
    stripes_ = inContext([&] { return file.name(); }, [&] { return stripesOf(*head); });
    codec_ = head->has_codec != 0 ? head->codec : 0;
    summed_ = head->has_checksum != 0 && head->checksum != 0;
    if (summed_ && head->checksum != kXxh3Checksum)
        fail("{}: checksums of a kind that this criu doesn't know: {}", file.name(), head->checksum);
    for (;;) {
        const std::uint64_t offset = file.offset();
        const auto entry = file.next<PagemapEntry>();
        if (!entry)
            break;
        const ErrorContext context(
            [&] { return fmt::format("{}: entry {} at offset {}", file.name(), ranges_.size(), offset); });
        append((*entry)->vaddr, pagesOf(**entry), flagsOf(**entry));
        if (summed_)
            appendChecksums(ranges_.back(), {(*entry)->checksums, (*entry)->n_checksums});
        const PagemapBlocks* const blocks = (*entry)->blocks;
        const bool aligned = isPayloadAligned(**entry);
        if (codec_ == 0 && blocks != nullptr && head->has_codec != 0)
            fail("it has blocks, but the head doesn't say how they are compressed");
        if (codec_ == 0 && (blocks != nullptr || aligned))
            becomeBlocks();
        if (codec_ == 0)
            continue;
        aligned_ = aligned;
        if (blocks == nullptr) {
            appendBlocks(ranges_.back(), nullptr);
            continue;
        }
        const BlockSizes sizes{{blocks->block_sizes, blocks->n_block_sizes}, blocks->pages_per_block};
        appendBlocks(ranges_.back(), &sizes);
        const std::uint64_t sum = std::accumulate(sizes.stored.begin(), sizes.stored.end(), std::uint64_t{0});
        if (blocks->has_payload_size != 0 && blocks->payload_size != sum)
            fail("its blocks take {} bytes, not {}", sum, blocks->payload_size);
    }
}

void Pagemap::appendBlocks(const PagemapRange& range, const BlockSizes* blocks) {
    if (!has(range.flags, PageFlags::Present)) {
        if (blocks != nullptr)
            fail("it has blocks, but no content");
        return;
    }
    if (blocks == nullptr)
        return appendBlock(range.bytes(), range.bytes());
    const std::uint64_t each = blocks->pagesEach * kImagePageSize;
    if (each == 0 || each > kLargestBlock || blocks->stored.size() != (range.bytes() + each - 1) / each)
        fail("it has {} blocks of {} pages for {} pages", blocks->stored.size(), blocks->pagesEach, range.pages);
    std::uint64_t rest = range.bytes();
    for (const std::uint32_t stored : blocks->stored) {
        const std::uint64_t bytes = std::min(rest, each);
        if (stored > bytes)
            fail("a block of {} bytes takes {}", bytes, stored);
        appendBlock(bytes, stored);
        rest -= bytes;
    }
}

/// Appends a block. Positions can't overflow: load() has checked the size of the content, and stored sizes don't exceed
/// it.
void Pagemap::appendBlock(std::uint64_t bytes, std::uint64_t stored) {
    if (aligned_ && stored != 0)
        fileEnd_ = (fileEnd_ + kImagePageSize - 1) / kImagePageSize * kImagePageSize;
    aligned_ = aligned_ && stored == 0;
    blocks_.push_back({blocks_.empty() ? 0 : blocks_.back().end(), bytes, fileEnd_, stored});
    fileEnd_ += stored;
}

/// Makes this pagemap compressed when load() reaches the first entry with blocks, as in images of CRIU 4.3. Adds
/// uncompressed blocks for all earlier entries.
void Pagemap::becomeBlocks() {
    if (stripes_.files.size() > 1)
        fail("it has blocks, and content in several files");
    codec_ = kLz4Codec;
    for (std::size_t index = 0; index + 1 < ranges_.size(); ++index)
        appendBlocks(ranges_[index], nullptr);
}

void Pagemap::becomeUncompressed() noexcept {
    codec_ = 0;
    blocks_.clear();
}

void Pagemap::appendChecksums(const PagemapRange& range, std::span<const std::uint32_t> checksums) {
    const std::uint64_t pages = has(range.flags, PageFlags::Present) ? range.pages : 0;
    if (checksums.size() != pages)
        fail("it has {} checksums for the content of {} pages", checksums.size(), pages);
    checksums_.insert(checksums_.end(), checksums.begin(), checksums.end());
}

std::uint64_t Pagemap::sizeOf(std::size_t file) const noexcept {
    if (codec_ == 0)
        return stripes_.sizeOf(file, contentSize_);
    return fileEnd_;
}

void Pagemap::append(std::uint64_t vaddr, std::uint64_t pages, PageFlags flags) {
    checkRange(vaddr, pages, flags, ranges_.empty() ? 0 : ranges_.back().end());
    ranges_.push_back({vaddr, pages, flags, contentSize_});
    addContent(contentSize_, ranges_.back());
}

std::optional<Pagemap> Pagemap::load(const ImageDir& dir, ImageKind kind, std::uint64_t id) {
    auto file = dir.openRead(kind, id);
    if (!file)
        return std::nullopt;
    return inContext([&] { return dir.name(); }, [&] { return Pagemap(std::move(*file)); });
}

std::span<const PagemapRange> Pagemap::from(std::uint64_t vaddr) const noexcept {
    const auto first = std::upper_bound(ranges_.begin(), ranges_.end(), vaddr,
                                        [](std::uint64_t at, const PagemapRange& range) { return at < range.end(); });
    return {first, ranges_.end()};
}

const PagemapRange* Pagemap::find(std::uint64_t vaddr) const noexcept {
    const auto rest = from(vaddr);
    return rest.empty() || rest.front().vaddr > vaddr ? nullptr : &rest.front();
}

std::vector<UniqueFd> Pagemap::openPages(const ImageDir& dir, int flags) const {
    std::vector<UniqueFd> files;
    for (std::size_t index = 0; index < stripes_.files.size(); ++index) {
        const std::uint64_t size = sizeOf(index);
        auto pages = dir.openRaw(ImageKind::Pages, stripes_.files[index], flags);
        const std::string name = imageName(ImageKind::Pages, stripes_.files[index]);
        if (!pages) {
            if (contentSize_ != 0)
                failWith(ENOENT, "open {} in {}", name, dir.name());
            return {};
        }
        if (dir.directIo())
            useDirectIo(pages->get());
        struct stat status {};
        sys(::fstat(pages->get(), &status), "{}: fstat", name);
        if (static_cast<std::uint64_t>(status.st_size) < size)
            fail("{}/{}: has {} bytes, but its pagemap refers to {}", dir.name(), name, status.st_size, size);
        files.push_back(std::move(*pages));
    }
    return files;
}

PagemapWriter::PagemapWriter(ImageWriter file, const PageStripes& stripes, std::uint32_t codec, bool summed)
    : file_(std::move(file)), summed_(summed) {
    PagemapHead head = PAGEMAP_HEAD__INIT;
    std::vector<std::uint32_t> files = stripes.files;
    head.pages_id = files.front();
    if (files.size() > 1) {
        head.pages_id = kNoPagesId;
        head.n_more_pages_ids = files.size();
        head.more_pages_ids = files.data();
        head.has_stripe_pages = 1;
        head.stripe_pages = static_cast<std::uint32_t>(stripes.piece / kImagePageSize);
    }
    head.has_codec = codec != 0;
    head.codec = codec;
    head.has_checksum = summed;
    head.checksum = kXxh3Checksum;
    file_.write(head);
}

/// Checks a new range and its checksums, and adds its content to contentSize_.
void PagemapWriter::begin(const PagemapRange& range, std::span<const std::uint32_t> checksums) {
    const ErrorContext context([&] { return file_.name(); });
    checkRange(range.vaddr, range.pages, range.flags, pending_.pages != 0 ? pending_.end() : end_);
    if (checksums.size() != (summed_ && has(range.flags, PageFlags::Present) ? range.pages : 0))
        fail("range at {:#x} of {} pages with {} checksums", range.vaddr, range.pages, checksums.size());
    addContent(contentSize_, range);
}

void PagemapWriter::add(std::uint64_t vaddr, std::uint64_t pages, PageFlags flags,
                        std::span<const std::uint32_t> checksums) {
    if (summed_ && pages > kMostSummed && has(flags, PageFlags::Present)) {
        add(vaddr, kMostSummed, flags, checksums.first(std::min<std::size_t>(checksums.size(), kMostSummed)));
        return add(vaddr + kMostSummed * kImagePageSize, pages - kMostSummed, flags,
                   checksums.subspan(std::min<std::size_t>(checksums.size(), kMostSummed)));
    }
    begin({vaddr, pages, flags, contentSize_}, checksums);
    const bool fits = !summed_ || pending_.pages + pages <= kMostSummed;
    if (pending_.pages == 0 || pending_.flags != flags || pending_.end() != vaddr || !fits) {
        writePending();
        pending_ = {vaddr, 0, flags, 0};
    }
    pending_.pages += pages;
    pendingChecksums_.insert(pendingChecksums_.end(), checksums.begin(), checksums.end());
}

void PagemapWriter::addBlocks(std::uint64_t vaddr, std::uint64_t pages, PageFlags flags, const BlockSizes& blocks,
                              std::span<const std::uint32_t> checksums) {
    writePending();
    const PagemapRange range{vaddr, pages, flags, contentSize_};
    begin(range, checksums);
    write(range, &blocks, checksums);
}

void PagemapWriter::write(const PagemapRange& range, const BlockSizes* blocks,
                          std::span<const std::uint32_t> checksums) {
    PagemapEntry entry = PAGEMAP_ENTRY__INIT;
    entry.vaddr = range.vaddr;
    entry.has_flags = 1;
    entry.flags = static_cast<std::uint32_t>(range.flags);
    entry.has_nr_pages = 1;
    entry.nr_pages = range.pages;
    PagemapBlocks message = PAGEMAP_BLOCKS__INIT;
    std::vector<std::uint32_t> sizes;
    if (blocks != nullptr) {
        sizes.assign(blocks->stored.begin(), blocks->stored.end());
        message.n_block_sizes = sizes.size();
        message.block_sizes = sizes.data();
        message.has_payload_size = 1;
        message.payload_size = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
        message.has_pages_per_block = 1;
        message.pages_per_block = static_cast<std::uint32_t>(blocks->pagesEach);
        entry.blocks = &message;
    }
    entry.n_checksums = checksums.size();
    entry.checksums = const_cast<std::uint32_t*>(checksums.data());
    file_.write(entry);
    end_ = range.end();
}

void PagemapWriter::writePending() {
    if (pending_.pages != 0)
        write(pending_, nullptr, pendingChecksums_);
    pending_ = {};
    pendingChecksums_.clear();
}

void PagemapWriter::finish() {
    writePending();
    file_.finish();
}

}  // namespace criu
