// SPDX-License-Identifier: GPL-2.0-only
// Content in compressed blocks. The content must survive, read by several threads, whole and in parts. Contradictory
// images are refused.
#include <fcntl.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <numeric>
#include <thread>

#include "criu/memory/pages/codec.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"
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
