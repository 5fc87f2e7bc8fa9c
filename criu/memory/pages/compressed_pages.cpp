// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/compressed_pages.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <mutex>

#include "criu/base/error.hpp"
#include "criu/base/sequenced_execution.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/pagemap.hpp"
#include "criu/image/written_sums.hpp"
#include "criu/memory/pages/checked_pages.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"
#include "criu/memory/pages/pages_store.hpp"
#include "criu/memory/pages/parent_pages.hpp"
#include "criu/memory/pages/read_targets.hpp"
#include "criu/memory/pages/zero.hpp"
#include "criu/model/page_codec.hpp"

namespace criu::memory {
namespace {

/// Returns the maximum compressed size of a block that criu stores compressed. If the result of the compression is
/// larger, criu stores the block uncompressed, because a restore reads it faster.
constexpr std::size_t worthwhile(std::size_t bytes) noexcept {
    return bytes / 8 * 7;
}

/// Returns true if a block seems compressible. Tries only two of its pages, because incompressible data (encrypted,
/// compressed, neural network weights) takes as long to compress as other data.
bool seemsCompressible(const Codec& codec, std::span<const std::byte> block) {
    constexpr std::size_t kFew = 4 * kImagePageSize;
    if (block.size() <= kFew)
        return true;
    std::array<std::byte, worthwhile(kImagePageSize)> room;
    const auto shrinks = [&](std::size_t offset) {
        return codec.compress(block.subspan(offset, kImagePageSize), room) != 0;
    };
    return shrinks(block.size() / 2 / kImagePageSize * kImagePageSize) || shrinks(0);
}

/// Run of pages, or a part of a run if the run extends over several blocks of the dump.
struct FramePiece {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    /// Stored size of each compressed block in bytes; empty if all blocks are uncompressed.
    std::vector<std::uint32_t> stored;
};

/// Compressed form of one block of the dump.
class Packing {
public:
    Packing(const Codec& codec, std::uint64_t blockSize, const PageBlock& block)
        : codec_(codec), blockSize_(blockSize), room_(std::make_unique_for_overwrite<std::byte[]>(block.bytes.size())) {
        std::span<const std::byte> rest = block.bytes;
        for (const kernel::RemoteRange& range : block.ranges) {
            add(range.start, rest.first(range.size));
            rest = rest.subspan(range.size);
        }
    }

    std::vector<FramePiece> pieces;
    std::vector<iovec> output;
    std::uint64_t size = 0;   ///< bytes of output
    std::uint64_t zeros = 0;  ///< bytes of zero pages, which the image omits

private:
    void add(std::uint64_t address, std::span<const std::byte> content) {
        FramePiece piece{address, content.size(), {}};
        bool asItIs = true;
        while (!content.empty()) {
            const auto block = content.first(std::min<std::size_t>(content.size(), blockSize_));
            const std::size_t stored = pack(block);
            asItIs = asItIs && stored == block.size();
            piece.stored.push_back(static_cast<std::uint32_t>(stored));
            content = content.subspan(block.size());
        }
        if (asItIs)
            piece.stored.clear();
        pieces.push_back(std::move(piece));
    }

    std::size_t pack(std::span<const std::byte> block) {
        if (isZero(block)) {
            zeros += block.size();
            return 0;
        }
        std::size_t stored = 0;
        if (seemsCompressible(codec_, block))
            stored = codec_.compress(block, {room_.get() + used_, worthwhile(block.size())});
        if (stored == 0) {
            put(block);
            return block.size();
        }
        put({room_.get() + used_, stored});
        used_ += stored;
        return stored;
    }

    void put(std::span<const std::byte> bytes) {
        size += bytes.size();
        if (!output.empty() && static_cast<std::byte*>(output.back().iov_base) + output.back().iov_len == bytes.data())
            output.back().iov_len += bytes.size();
        else
            output.push_back({const_cast<std::byte*>(bytes.data()), bytes.size()});
    }

    const Codec& codec_;
    const std::uint64_t blockSize_;
    /// Buffer for compressed blocks. It has the size of the uncompressed block; compressed output is never larger.
    std::unique_ptr<std::byte[]> room_;
    std::size_t used_ = 0;
};

/// Sink that writes compressed blocks in ascending order of positions, because the file offset of a block depends on
/// the sizes of all earlier blocks.
class CompressedSink final : public PageSink {
public:
    CompressedSink(const ImageDir& images, const MemoryObject& object, std::uint32_t number,
                   const Compression& compression)
        : compression_(compression),
          pagemap_(images.create(pagemapOf(object), object.id), {{number}, 0},
                   static_cast<std::uint32_t>(compression.kind), images.sums() != nullptr),
          pages_(createPagesStore(images, number)) {
        if (images.sums() != nullptr)
            sums_.emplace(images.sums()->checksum());
    }

    std::uint64_t write(const PageBlock& block) override {
        if (sums_)
            sums_->add(block);
        Packing packing(*compression_.codec, compression_.block, block);
        pages_->writePieces(place(block, packing), packing.output);
        return packing.zeros;
    }

    [[nodiscard]] bool isOrdered() const noexcept override { return true; }

    void abandon() noexcept override {
        turns_.abandon();
        pages_->abandon();
    }

    void finish() override {
        pages_->finish();
        const std::lock_guard lock(mutex_);
        std::vector<std::uint32_t> sums;
        if (sums_)
            sums = sums_->take(contentSize());
        std::span<const std::uint32_t> rest = sums;
        for (const PageRun& run : runs_)
            if (has(run.flags, PageFlags::Present))
                finishRun(run, rest);
            else
                pagemap_.add(run.address, run.bytes / kImagePageSize, run.flags);
        pagemap_.finish();
    }

private:
    void append(std::span<const PageRun> runs, std::uint64_t) override {
        const std::lock_guard lock(mutex_);
        runs_.insert(runs_.end(), runs.begin(), runs.end());
    }

    std::uint64_t place(const PageBlock& block, Packing& packing) {
        std::uint64_t offset = 0;
        turns_.run(block.position, block.bytes.size(), [&] {
            const std::lock_guard lock(mutex_);
            offset = end_;
            end_ += packing.size;
            std::move(packing.pieces.begin(), packing.pieces.end(), std::back_inserter(pieces_));
        });
        return offset;
    }

    /// Writes the pagemap entries of a run. `sums`: checksums of this run and of all later content; the function
    /// removes the run's checksums.
    void finishRun(const PageRun& run, std::span<const std::uint32_t>& sums) {
        for (std::uint64_t done = 0; done < run.bytes;) {
            if (pieces_.empty() || pieces_.front().address != run.address + done)
                fail("pages at {:#x} have no content", run.address + done);
            const FramePiece piece = std::move(pieces_.front());
            pieces_.pop_front();
            const std::uint64_t pages = piece.bytes / kImagePageSize;
            const std::span<const std::uint32_t> own = sums.first(sums_ ? pages : 0);
            sums = sums.subspan(own.size());
            if (piece.stored.empty())
                pagemap_.add(piece.address, pages, run.flags, own);
            else
                pagemap_.addBlocks(piece.address, pages, run.flags, {piece.stored, compression_.block / kImagePageSize},
                                   own);
            done += piece.bytes;
        }
    }

    const Compression compression_;
    PagemapWriter pagemap_;
    const std::unique_ptr<PagesStore> pages_;
    SequencedExecution turns_;  ///< makes threads assign file offsets in ascending order of positions
    std::mutex mutex_;
    std::deque<PageRun> runs_;
    std::deque<FramePiece> pieces_;  ///< pieces in ascending order of positions
    std::uint64_t end_ = 0;          ///< size of the pages file in bytes
    std::optional<PageSums> sums_;   ///< checksums of the content; unset if the images have no checksums
};

class CompressedContent final : public PageContent {
public:
    CompressedContent(const ImageDir& images, const Pagemap& pagemap, std::shared_ptr<const Codec> codec)
        : name_(fmt::format("{}/{}", images.name(), imageName(ImageKind::Pages, pagemap.stripes().files.front()))),
          blocks_(pagemap.blocks()),
          codec_(std::move(codec)) {
        std::vector<UniqueFd> files = pagemap.openPages(images, O_RDONLY | O_CLOEXEC);
        if (!files.empty())
            file_ = std::move(files.front());
    }

    void read(std::uint64_t position, std::span<iovec> targets) const override {
        auto block = blockAt(position);
        for (; !targets.empty(); ++block) {
            if (block == blocks_.end())
                fail("there is no content at {:#x}", position);
            std::vector<iovec> part = takeFront(targets, block->end() - position);
            const std::uint64_t within = position - block->position;
            position += sizeOf(part);
            readBlock(*block, within, part);
        }
    }

    [[nodiscard]] std::string where(std::uint64_t position) const override {
        const auto block = blockAt(position);
        return block == blocks_.end()
                   ? name_
                   : fmt::format("{}: in the {} bytes at offset {:#x}", name_, block->stored, block->offset);
    }

private:
    [[nodiscard]] std::span<const StoredBlock>::iterator blockAt(std::uint64_t position) const {
        return std::upper_bound(blocks_.begin(), blocks_.end(), position,
                                [](std::uint64_t at, const StoredBlock& each) { return at < each.end(); });
    }

    void readBlock(const StoredBlock& block, std::uint64_t within, std::span<iovec> targets) const {
        if (block.stored == 0) {
            for (const iovec& target : targets)
                std::memset(target.iov_base, 0, target.iov_len);
            return;
        }
        if (block.stored == block.bytes)
            return readFrom(file_.get(), block.offset + within, targets);
        const ErrorContext context(
            [&] { return fmt::format("{}: block of {} bytes at offset {:#x}", name_, block.stored, block.offset); });
        const auto stored = std::make_unique_for_overwrite<std::byte[]>(block.stored);
        iovec whole{stored.get(), block.stored};
        readFrom(file_.get(), block.offset, {&whole, 1});
        const std::span<const std::byte> from(stored.get(), block.stored);
        if (targets.size() == 1 && targets.front().iov_len == block.bytes)
            return codec_->decompress(from, {static_cast<std::byte*>(targets.front().iov_base), block.bytes});
        const auto content = std::make_unique_for_overwrite<std::byte[]>(block.bytes);
        codec_->decompress(from, {content.get(), block.bytes});
        const std::byte* at = content.get() + within;
        for (const iovec& target : targets) {
            std::memcpy(target.iov_base, at, target.iov_len);
            at += target.iov_len;
        }
    }

    const std::string name_;
    const std::span<const StoredBlock> blocks_;
    const std::shared_ptr<const Codec> codec_;
    UniqueFd file_;
};

}  // namespace

Compression Compression::with(model::PageCodec kind, int level, std::uint64_t block) {
    if (kind == model::PageCodec::None)
        return {};
    return {Codec::load(kind, level), kind, block};
}

std::unique_ptr<PageSink> makeCompressedSink(const ImageDir& images, const MemoryObject& object, std::uint32_t number,
                                             const Compression& compression) {
    return std::make_unique<CompressedSink>(images, object, number, compression);
}

std::shared_ptr<const Codec> codecOf(const Pagemap& pagemap) {
    if (pagemap.codec() == 0)
        return nullptr;
    const model::PageCodecInfo* const found = model::findPageCodec(pagemap.codec());
    if (found == nullptr)
        fail("its content is compressed in a way that this criu doesn't know: {}", pagemap.codec());
    return Codec::load(found->codec);
}

std::unique_ptr<PageContent> openCompressed(const ImageDir& images, const Pagemap& pagemap,
                                            std::shared_ptr<const Codec> codec) {
    return std::make_unique<CompressedContent>(images, pagemap, std::move(codec));
}

}  // namespace criu::memory
