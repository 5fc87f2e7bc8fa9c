// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/pagemap.hpp"

#include <catch2/catch.hpp>

#include "image_fixture.hpp"
#include "images/pagemap.hpp"

using Catch::Contains;
using criu::ImageKind;
using criu::PageFlags;
using criu::Pagemap;
using criu::PagemapRange;
using criu::PagemapWriter;
using criu::test::Bytes;
using criu::test::errorOf;

namespace {

constexpr auto kPresent = PageFlags::Present;
constexpr auto kParent = PageFlags::Parent;
constexpr auto kLazy = PageFlags::Lazy;

PagemapEntry range(std::uint64_t vaddr, std::uint64_t pages, std::uint32_t flags) {
    PagemapEntry entry = PAGEMAP_ENTRY__INIT;
    entry.vaddr = vaddr;
    entry.has_nr_pages = entry.has_flags = 1;
    entry.nr_pages = pages;
    entry.flags = flags;
    return entry;
}

Bytes fileOf(std::initializer_list<PagemapEntry> entries) {
    PagemapHead head = PAGEMAP_HEAD__INIT;
    head.pages_id = 4;
    auto bytes = Bytes::headerOf(ImageKind::Pagemap);
    bytes.record(head);
    for (const PagemapEntry& entry : entries)
        bytes.record(entry);
    return bytes;
}

Pagemap load(std::initializer_list<PagemapEntry> entries) {
    return Pagemap(criu::ImageReader(fileOf(entries).file(), ImageKind::Pagemap, "pagemap-7.img"));
}

std::vector<PagemapRange> rangesOf(const Pagemap& pagemap) {
    return {pagemap.ranges().begin(), pagemap.ranges().end()};
}

}  // namespace

TEST_CASE("several pages files hold pieces of the content in turn") {
    const criu::PageStripes one{{7}, 0};
    CHECK(one.place(5).file == 0);
    CHECK(one.place(5).offset == 5);
    CHECK(one.sizeOf(0, 12345) == 12345);
    const criu::PageStripes three{{7, 9, 8}, 0x2000};
    std::uint64_t used[3] = {};
    for (std::uint64_t position = 0; position < 0x11000; position += 0x1000) {
        const auto place = three.place(position);
        CHECK(place.file == position / 0x2000 % 3);
        CHECK(place.together == 0x2000 - position % 0x2000);
        CHECK(place.offset == used[place.file]);  // in order, without gaps
        used[place.file] += 0x1000;
        for (std::size_t file = 0; file < 3; ++file)
            CHECK(three.sizeOf(file, position + 0x1000) == used[file]);
    }
}

TEST_CASE("a pagemap names pages files in a way that makes sense") {
    const auto with = [](std::vector<std::uint32_t> more, std::optional<std::uint32_t> pages, std::uint32_t first = 4) {
        PagemapHead head = PAGEMAP_HEAD__INIT;
        head.pages_id = first;
        head.n_more_pages_ids = more.size();
        head.more_pages_ids = more.data();
        head.has_stripe_pages = pages.has_value();
        head.stripe_pages = pages.value_or(0);
        auto bytes = Bytes::headerOf(ImageKind::Pagemap);
        bytes.record(head);
        return Pagemap(criu::ImageReader(bytes.file(), ImageKind::Pagemap, "pagemap-7.img")).stripes();
    };
    CHECK(with({5, 6}, 16) == criu::PageStripes{{4, 5, 6}, 0x10000});
    CHECK(with({}, 16) == criu::PageStripes{{4}, 0});
    CHECK(with({5, 6}, 16, 0) == criu::PageStripes{{5, 6}, 0x10000});
    CHECK(with({5}, 16, 0) == criu::PageStripes{{5}, 0x10000});
    CHECK(with({}, 16, 0) == criu::PageStripes{{0}, 0});
    CHECK_THAT(errorOf([&] { (void)with({5, 6}, {}); }), Contains("pagemap-7.img") && Contains("pieces of 0 pages"));
    CHECK_THAT(errorOf([&] { (void)with({5}, 0x40001); }), Contains("pieces of 262145 pages"));
    CHECK_THAT(errorOf([&] { (void)with({5, 4}, 16); }), Contains("twice"));
    CHECK_THAT(errorOf([&] { (void)with(std::vector<std::uint32_t>(256, 1), 16); }), Contains("too many"));
}

TEST_CASE("only present pages take room in the pages file") {
    const auto pagemap = load({range(0x1000, 2, 4), range(0x3000, 1, 1), range(0x4000, 8, 2), range(0x10000, 3, 6),
                               range(0x20000, 1, 0), range(0x30000, 1, 4)});
    CHECK(pagemap.stripes().files == std::vector<std::uint32_t>{4});
    CHECK(rangesOf(pagemap) == std::vector<PagemapRange>{{0x1000, 2, kPresent, 0},
                                                         {0x3000, 1, kParent, 0x2000},
                                                         {0x4000, 8, kLazy, 0x2000},
                                                         {0x10000, 3, kLazy | kPresent, 0x2000},
                                                         {0x20000, 1, PageFlags::None, 0x5000},
                                                         {0x30000, 1, kPresent, 0x5000}});
    CHECK(pagemap.contentSize() == 0x6000);
}

TEST_CASE("old forms of entries are understood") {
    PagemapEntry plain = PAGEMAP_ENTRY__INIT;
    plain.vaddr = 0x1000;
    plain.compat_nr_pages = 3;
    PagemapEntry inParent = plain;
    inParent.vaddr = 0x8000;
    inParent.has_in_parent = inParent.in_parent = 1;
    PagemapEntry notInParent = plain;
    notInParent.vaddr = 0x10000;
    notInParent.has_in_parent = 1;
    CHECK(rangesOf(load({plain, inParent, notInParent})) == std::vector<PagemapRange>{{0x1000, 3, kPresent, 0},
                                                                                      {0x8000, 3, kParent, 0x3000},
                                                                                      {0x10000, 3, kPresent, 0x3000}});
}

TEST_CASE("ranges that contradict each other or the machine are rejected") {
    const auto rejects = [](std::initializer_list<PagemapEntry> entries) {
        return errorOf([&] { (void)load(entries); });
    };
    CHECK_THAT(rejects({range(0x1001, 1, 4)}),
               Contains("pagemap-7.img: entry 0 at offset 14") && Contains("isn't page aligned"));
    CHECK_THAT(rejects({range(0x1000, 0, 4)}), Contains("is empty"));
    CHECK_THAT(rejects({range(0x1000, 2, 4), range(0x2000, 1, 4)}),
               Contains("entry 1 at offset") && Contains("begins before its predecessor's end at 0x3000"));
    CHECK_THAT(rejects({range(0x5000, 1, 4), range(0x1000, 1, 4)}), Contains("begins before"));
    CHECK_THAT(rejects({range(0x1000, UINT64_MAX, 4)}), Contains("exceeds the address space"));
    CHECK_THAT(rejects({range(0xfffffffffffff000, 1, 1)}), Contains("exceeds the address space"));
    CHECK_THAT(rejects({range(0, std::uint64_t{1} << 51, 4)}), Contains("exceeds what a file can hold"));
    CHECK_THAT(rejects({range(0x1000, 1, 5)}), Contains("both here and in the parent"));
    CHECK_THAT(rejects({range(0x1000, 1, 16)}), Contains("unknown flags 0x10"));
    CHECK(rejects({range(0xffffffffff600000, 1, 4)}).empty());
    CHECK(rejects({range(0, std::uint64_t{1} << 51, 1)}).empty());

    const auto noHead = Bytes::headerOf(ImageKind::Pagemap);
    CHECK_THAT(errorOf([&] { Pagemap(criu::ImageReader(noHead.file(), ImageKind::Pagemap, "p")); }),
               Contains("pagemap_head"));
}

TEST_CASE("addresses are looked up") {
    const auto pagemap = load({range(0x1000, 2, 4), range(0x3000, 1, 1), range(0x8000, 1, 4)});
    CHECK(pagemap.find(0xfff) == nullptr);
    CHECK(pagemap.find(0x1000)->vaddr == 0x1000);
    CHECK(pagemap.find(0x2fff)->vaddr == 0x1000);
    CHECK(pagemap.find(0x3000)->vaddr == 0x3000);
    CHECK(pagemap.find(0x4000) == nullptr);
    CHECK(pagemap.find(0x8fff)->vaddr == 0x8000);
    CHECK(pagemap.find(0x9000) == nullptr);
    CHECK(pagemap.from(0).size() == 3);
    CHECK(pagemap.from(0x3000).size() == 2);
    CHECK(pagemap.from(0x4000).size() == 1);
    CHECK(pagemap.from(0x9000).empty());
}

TEST_CASE("written ranges are read back, merged") {
    const criu::test::TemporaryDir tmp;
    const auto dir = tmp.images();
    PagemapWriter writer(dir.create(ImageKind::ShmemPagemap, 9), {{2, 8, 5}, 0x3000});
    writer.add(0x1000, 1, kPresent);
    writer.add(0x2000, 4, kPresent);
    CHECK(writer.contentSize() == 0x5000);
    writer.add(0x6000, 1, kParent);
    writer.add(0x7000, 1, kParent);
    writer.add(0x8000, 1, kLazy | kPresent);
    writer.add(0xa000, 1, kLazy | kPresent);
    writer.finish();
    CHECK_FALSE(Pagemap::load(dir, ImageKind::ShmemPagemap, 8));
    const auto pagemap = Pagemap::load(dir, ImageKind::ShmemPagemap, 9);
    REQUIRE(pagemap);
    CHECK(pagemap->stripes() == criu::PageStripes{{2, 8, 5}, 0x3000});
    CHECK(rangesOf(*pagemap) == std::vector<PagemapRange>{{0x1000, 5, kPresent, 0},
                                                          {0x6000, 2, kParent, 0x5000},
                                                          {0x8000, 1, kLazy | kPresent, 0x5000},
                                                          {0xa000, 1, kLazy | kPresent, 0x6000}});
    CHECK(pagemap->contentSize() == writer.contentSize());
}

TEST_CASE("a pagemap of no ranges is written") {
    const criu::test::TemporaryDir tmp;
    PagemapWriter(tmp.images().create(ImageKind::Pagemap, 1), {{3}, 0}).finish();
    CHECK(Pagemap::load(tmp.images(), ImageKind::Pagemap, 1)->ranges().empty());
}

TEST_CASE("ranges that can't be read back aren't written") {
    const criu::test::TemporaryDir tmp;
    PagemapWriter writer(tmp.images().create(ImageKind::Pagemap, 1), {{1}, 0});
    writer.add(0x5000, 2, kPresent);
    CHECK_THAT(errorOf([&] { writer.add(0x6000, 1, kPresent); }), Contains("pagemap-1.img") && Contains("before"));
    CHECK_THAT(errorOf([&] { writer.add(0x8001, 1, kPresent); }), Contains("aligned"));
    CHECK_THAT(errorOf([&] { writer.add(0x8000, 0, kPresent); }), Contains("empty"));
    CHECK_THAT(errorOf([&] { writer.add(0x8000, 1, kPresent | kParent); }), Contains("both"));
    CHECK(writer.contentSize() == 0x2000);
}

TEST_CASE("the pages file must hold what the pagemap says") {
    const criu::test::TemporaryDir tmp;
    const auto dir = tmp.images();
    const auto pagemap = load({range(0x1000, 2, 4)});
    CHECK_THAT(errorOf([&] { (void)pagemap.openPages(dir, O_RDONLY); }), Contains("pages-4.img"));
    const auto pages = dir.createRaw(ImageKind::Pages, 4);
    REQUIRE(::ftruncate(pages.get(), 0x1fff) == 0);
    CHECK_THAT(errorOf([&] { (void)pagemap.openPages(dir, O_RDONLY); }),
               Contains("pages-4.img: has 8191 bytes, but its pagemap refers to 8192"));
    REQUIRE(::ftruncate(pages.get(), 0x2000) == 0);
    CHECK(pagemap.openPages(dir, O_RDONLY).size() == 1);
    dir.unlink(ImageKind::Pages, 4);
    CHECK(load({range(0x1000, 2, 1)}).openPages(dir, O_RDONLY).empty());
}
