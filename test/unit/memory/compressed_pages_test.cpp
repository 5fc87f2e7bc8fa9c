// SPDX-License-Identifier: GPL-2.0-only
// Content in compressed blocks. The content must survive, read by several threads, whole and in parts. Contradictory
// images are refused.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <thread>

#include "criu/base/mapping.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/memory/pages/codec.hpp"
#include "criu/memory/pages/page_extensions.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"
#include "criu/memory/pages/unpacked_pages.hpp"
#include "criu/model/page_codec.hpp"
#include "image_fixture.hpp"
#include "images/pagemap.hpp"
#include "stored_pages.hpp"

using namespace criu;
using namespace criu::memory;
using Catch::Contains;

namespace {

constexpr MemoryObject kPackedTask = test::kStoredTask;
constexpr std::uint64_t kPackedStart = test::kStoredStart;

Compression by(model::PageCodec kind, std::uint64_t block) {
    return Compression::with(kind, 1, block);
}

/// Returns bytes of three alternating kinds: text, zeroes, and incompressible bytes.
std::vector<std::byte> mixture(std::size_t pages) {
    std::vector<std::byte> content(pages * kImagePageSize);
    std::uint64_t state = 1;
    for (std::size_t at = 0; at < content.size(); ++at) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const std::size_t kind = at / kImagePageSize / 5 % 3;
        content[at] = kind == 0   ? static_cast<std::byte>("some text "[at % 10])
                      : kind == 1 ? std::byte{}
                                  : static_cast<std::byte>(state >> 56);
    }
    return content;
}

/// Writes one block for each `pages` pages, later ones first as far as the sink allows.
void store(const ImageDir& images, const Compression& compression, std::span<const std::byte> content,
           std::uint64_t pages) {
    FilePageSinks sinks(images, {}, 1, compression);
    const auto sink = sinks.open(kPackedTask, content.size());
    const PageRun run{kPackedStart, content.size(), PageFlags::Present | PageFlags::Lazy};
    REQUIRE(sink->add({&run, 1}) == 0);
    const std::uint64_t step = pages * kImagePageSize;
    std::vector<std::thread> threads;
    for (std::uint64_t at = (content.size() - 1) / step * step;; at -= step) {
        threads.emplace_back([&, at] {
            const kernel::RemoteRange range{kPackedStart + at, std::min<std::uint64_t>(step, content.size() - at)};
            sink->write({at, {&range, 1}, content.subspan(at, range.size)});
        });
        if (at == 0)
            break;
    }
    for (std::thread& each : threads)
        each.join();
    sink->finish();
    CHECK(sinks.extensions() == std::vector<std::string>{kCompressedPages});
}

/// Writes a pagemap of one range of three pages in blocks of two.
void storeBlocks(const ImageDir& images, std::uint32_t codec, std::vector<std::uint32_t> sizes,
                 std::uint32_t pagesPerBlock, std::optional<std::uint64_t> payload, std::size_t fileSize) {
    ImageWriter pagemap = images.create(ImageKind::Pagemap, kPackedTask.id);
    PagemapHead head = PAGEMAP_HEAD__INIT;
    head.pages_id = 1;
    head.has_codec = 1;
    head.codec = codec;
    pagemap.write(head);
    PagemapEntry entry = PAGEMAP_ENTRY__INIT;
    PagemapBlocks blocks = PAGEMAP_BLOCKS__INIT;
    entry.vaddr = kPackedStart;
    entry.has_nr_pages = 1;
    entry.nr_pages = 3;
    entry.blocks = &blocks;
    blocks.n_block_sizes = sizes.size();
    blocks.block_sizes = sizes.data();
    blocks.has_pages_per_block = 1;
    blocks.pages_per_block = pagesPerBlock;
    blocks.has_payload_size = payload.has_value();
    blocks.payload_size = payload.value_or(0);
    pagemap.write(entry);
    pagemap.finish();
    const UniqueFd pages = images.createRaw(ImageKind::Pages, 1);
    REQUIRE(::ftruncate(pages.get(), static_cast<off_t>(fileSize)) == 0);
}

}  // namespace

TEST_CASE("compressed content is what it was, whole and in parts") {
    const test::TemporaryDir place;
    const ImageDir images = place.images();
    const auto kind = GENERATE(model::PageCodec::Lz4, model::PageCodec::Zstd);
    const std::uint64_t block = kImagePageSize * GENERATE(1U, 3U, 64U);
    CAPTURE(static_cast<int>(kind), block);
    const std::vector<std::byte> content = mixture(100);
    store(images, by(kind, block), content, 16);
    CHECK(test::loadStored(images, 0, content.size()) == content);
    for (const std::size_t page : {0U, 4U, 5U, 15U, 16U, 50U, 99U}) {
        const auto part = std::span(content).subspan(page * kImagePageSize, kImagePageSize);
        CHECK(test::loadStored(images, page * kImagePageSize, kImagePageSize) ==
              std::vector<std::byte>(part.begin(), part.end()));
    }
    const auto pages = images.openRaw(ImageKind::Pages, 1, O_RDONLY);
    // A third is zeroes and takes no space, a third becomes much smaller.
    CHECK(::lseek(pages->get(), 0, SEEK_END) < static_cast<off_t>(content.size() / 2));
}

TEST_CASE("content that was compressed and is damaged is an error") {
    const test::TemporaryDir place;
    const ImageDir images = place.images();
    const auto kind = GENERATE(model::PageCodec::Lz4, model::PageCodec::Zstd);
    const std::vector<std::byte> content = mixture(5);
    store(images, by(kind, kImagePageSize), content, 16);
    const auto pages = images.openRaw(ImageKind::Pages, 1, O_RDWR);
    const std::vector<char> damage(64, '\x7f');
    REQUIRE(::pwrite(pages->get(), damage.data(), damage.size(), 0) == 64);
    CHECK_THAT(test::errorOf([&] { (void)test::loadStored(images, 0, content.size()); }), Contains("it is damaged"));
    REQUIRE(::ftruncate(pages->get(), 10) == 0);
    CHECK_THAT(test::errorOf([&] { (void)test::loadStored(images, 0, content.size()); }),
               Contains("has 10 bytes, but its pagemap refers to"));
}

TEST_CASE("blocks that contradict their range are refused") {
    const test::TemporaryDir place;
    const ImageDir images = place.images();
    const auto read = [&] { return test::errorOf([&] { (void)test::loadStored(images, 0, 3 * kImagePageSize); }); };
    storeBlocks(images, 1, {100, 100, 100}, 2, std::nullopt, 300);
    CHECK_THAT(read(), Contains("it has 3 blocks of 2 pages for 3 pages"));
    storeBlocks(images, 1, {100, 4097}, 2, std::nullopt, 8192);
    CHECK_THAT(read(), Contains("a block of 4096 bytes takes 4097"));
    storeBlocks(images, 1, {100, 100}, 0, std::nullopt, 200);
    CHECK_THAT(read(), Contains("blocks of 0 pages"));
    storeBlocks(images, 1, {100}, 0x80000000U, std::nullopt, 200);
    CHECK_THAT(read(), Contains("blocks of 2147483648 pages"));
    storeBlocks(images, 1, {100, 100}, 2, 201, 201);
    CHECK_THAT(read(), Contains("its blocks take 200 bytes, not 201"));
    storeBlocks(images, 0, {100, 100}, 2, std::nullopt, 200);
    CHECK_THAT(read(), Contains("the head doesn't say how they are compressed"));
    storeBlocks(images, 9, {100, 100}, 2, std::nullopt, 200);
    CHECK_THAT(read(), Contains("in a way that this criu doesn't know: 9"));
}

TEST_CASE("compressed pages of CRIU 4.3: blocks without a codec, and content that begins at page boundaries") {
    const test::TemporaryDir place;
    const ImageDir images = place.images();
    const std::vector<std::byte> content = mixture(5);
    const auto codec = Codec::load(model::PageCodec::Lz4);
    const std::uint64_t plain = kImagePageSize;  // the first page isn't compressed
    std::vector<std::byte> packed(4 * kImagePageSize);
    packed.resize(codec->compress(std::span(content).subspan(plain), packed));
    REQUIRE(!packed.empty());
    const bool aligned = GENERATE(false, true);

    ImageWriter pagemap = images.create(ImageKind::Pagemap, kPackedTask.id);
    PagemapHead head = PAGEMAP_HEAD__INIT;
    head.pages_id = 1;
    pagemap.write(head);
    PagemapEntry entry = PAGEMAP_ENTRY__INIT;
    entry.vaddr = kPackedStart;
    entry.has_nr_pages = entry.has_flags = 1;
    entry.nr_pages = 1;
    entry.flags = 4;
    pagemap.write(entry);
    PagemapBlocks blocks = PAGEMAP_BLOCKS__INIT;
    auto size = static_cast<std::uint32_t>(packed.size());
    blocks.n_block_sizes = 1;
    blocks.block_sizes = &size;
    blocks.has_payload_size = blocks.has_pages_per_block = 1;
    blocks.payload_size = size;
    blocks.pages_per_block = 64;
    entry.vaddr += plain;
    entry.nr_pages = 4;
    entry.blocks = &blocks;
    pagemap.write(entry);
    entry.vaddr += 8 * kImagePageSize;
    entry.nr_pages = 1;
    entry.blocks = nullptr;
    entry.flags = aligned ? 4 + 8 : 4;
    pagemap.write(entry);
    pagemap.finish();

    const UniqueFd pages = images.createRaw(ImageKind::Pages, 1);
    const std::uint64_t end = plain + size;
    const std::uint64_t last = aligned ? (end + kImagePageSize - 1) / kImagePageSize * kImagePageSize : end;
    const auto put = [&](std::span<const std::byte> bytes, std::uint64_t offset) {
        REQUIRE(::pwrite(pages.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
                static_cast<ssize_t>(bytes.size()));
    };
    put(std::span(content).first(plain), 0);
    put(packed, plain);
    put(std::span(content).first(plain), last);
    CHECK(test::loadStored(images, 0, content.size()) == content);
    const std::vector<std::byte> first(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(plain));
    CHECK(test::loadStored(images, 9 * kImagePageSize, plain) == first);
}

TEST_CASE("direct I/O reads and writes the same content, and leaves none in the page cache") {
    const test::TemporaryDir place;
    ImageDir images = place.images();
    images.setDirectIo(true);
    const std::vector<std::byte> text = mixture(64);
    const Mapping buffer = Mapping::anonymous(text.size());  // the kernel wants aligned memory
    std::copy(text.begin(), text.end(), buffer.bytes().begin());
    {
        FilePageSinks sinks(images, {}, 1, {});
        const auto sink = sinks.open(kPackedTask, text.size());
        const PageRun run{kPackedStart, text.size(), PageFlags::Present};
        REQUIRE(sink->add({&run, 1}) == 0);
        const kernel::RemoteRange range{kPackedStart, text.size()};
        sink->write({0, {&range, 1}, buffer.bytes()});
        sink->finish();
    }
    const auto pages = images.openRaw(ImageKind::Pages, 1, O_RDONLY);
    struct statfs system {};
    REQUIRE(::fstatfs(pages->get(), &system) == 0);
    if (system.f_type != TMPFS_MAGIC && system.f_type != OVERLAYFS_SUPER_MAGIC) {
        const Mapping seen(::mmap(nullptr, text.size(), PROT_READ, MAP_SHARED, pages->get(), 0), text.size());
        std::vector<unsigned char> present(64);
        REQUIRE(::mincore(seen.as<void>(), text.size(), present.data()) == 0);
        CHECK(std::count_if(present.begin(), present.end(), [](unsigned char page) { return (page & 1) != 0; }) == 0);
    }
    CHECK(test::loadStored(images, 0, text.size()) == text);  // into memory that isn't aligned
}

TEST_CASE("confined processes unpack compressed content into a directory, from which a restore reads it",
          "[confined]") {
    for (const auto kind : {model::PageCodec::Lz4, model::PageCodec::Zstd}) {
        INFO(static_cast<int>(kind));
        const test::TemporaryDir place;
        const test::TemporaryDir unpacked;
        ImageDir images = place.images();
        const std::vector<std::byte> content = mixture(64);
        store(images, by(kind, 4 * kImagePageSize), content, 4);
        StopRequest stop;
        unpackPages(images, unpacked.images(), stop);
        const std::string stored = place.path() + "/" + imageName(ImageKind::Pages, 1);
        CHECK(std::filesystem::file_size(unpacked.path() + "/" + imageName(ImageKind::Pages, 1)) == content.size());
        images.setUnpacked(unpacked.images());
        // Without the compressed file, the content can come only from the unpacked one.
        std::filesystem::remove(stored);
        CHECK(test::loadStored(images, 0, content.size()) == content);
    }
}

TEST_CASE("a confined process copies an uncompressed block that is larger than the memory that it may allocate",
          "[confined]") {
    constexpr std::uint64_t kBytes = std::uint64_t{1} << 30;
    const test::TemporaryDir place;
    const test::TemporaryDir unpacked;
    ImageDir images = place.images();
    PagemapWriter pagemap(images.create(pagemapOf(kPackedTask), kPackedTask.id), {{1}, 0},
                          static_cast<std::uint32_t>(model::PageCodec::Zstd));
    pagemap.add(kPackedStart, kBytes / kImagePageSize, PageFlags::Present);
    pagemap.finish();
    const UniqueFd pages = images.createRaw(ImageKind::Pages, 1);
    const std::string_view text = "the last bytes";
    writeAt(pages.get(), std::as_bytes(std::span(text)), kBytes - text.size());
    StopRequest stop;
    unpackPages(images, unpacked.images(), stop);
    const auto copied = unpacked.images().openRaw(ImageKind::Pages, 1, O_RDONLY);
    REQUIRE(copied);
    std::string last(text.size(), '\0');
    readAt(copied->get(), std::as_writable_bytes(std::span(last)), kBytes - text.size());
    CHECK(last == text);
}

TEST_CASE("content that wasn't unpacked is missing, and isn't decompressed") {
    const test::TemporaryDir place;
    const test::TemporaryDir unpacked;
    ImageDir images = place.images();
    const std::vector<std::byte> content = mixture(8);
    store(images, by(model::PageCodec::Lz4, 4 * kImagePageSize), content, 4);
    images.setUnpacked(unpacked.images());
    // The range is lazy, so that the source itself needs no content.
    CHECK_THAT(test::errorOf([&] { (void)test::loadStored(images, 0, content.size()); }),
               Contains("pages-1.img") && Contains("No such file"));
}

TEST_CASE("damaged compressed content fails in a confined process", "[confined]") {
    const test::TemporaryDir place;
    const test::TemporaryDir unpacked;
    const ImageDir images = place.images();
    storeBlocks(images, static_cast<std::uint32_t>(model::PageCodec::Zstd), {100, 100}, 2, std::nullopt, 200);
    StopRequest stop;
    CHECK_THAT(
        test::errorOf([&] { unpackPages(images, unpacked.images(), stop); }),
        Contains("decompress ") && Contains("pages-1.img") && Contains("offset 0x0") && Contains("it is damaged"));
}

TEST_CASE("two pagemaps with one compressed pages file are refused", "[confined]") {
    const test::TemporaryDir place;
    const test::TemporaryDir unpacked;
    const ImageDir images = place.images();
    store(images, by(model::PageCodec::Lz4, 4 * kImagePageSize), mixture(8), 4);
    std::filesystem::copy_file(place.path() + "/" + imageName(ImageKind::Pagemap, 7),
                               place.path() + "/" + imageName(ImageKind::Pagemap, 8));
    StopRequest stop;
    CHECK_THAT(test::errorOf([&] { unpackPages(images, unpacked.images(), stop); }),
               Contains("belongs to several pagemaps"));
}
