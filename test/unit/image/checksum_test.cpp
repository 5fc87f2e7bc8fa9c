// SPDX-License-Identifier: GPL-2.0-only
// Checksums of images: every changed byte is found, in all files and in all storage forms of pages.
#include <fcntl.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <mutex>
#include <numeric>

#include "criu/image/checksum_list.hpp"
#include "criu/image/written_sums.hpp"
#include "criu/memory/pages/page_check.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"
#include "criu/model/page_codec.hpp"
#include "image_fixture.hpp"
#include "images/fs.hpp"
#include "images/inventory.hpp"
#include "images/pagemap.hpp"
#include "stored_pages.hpp"

using namespace criu;
using namespace criu::memory;
using Catch::Contains;

namespace {

constexpr MemoryObject kSummedTask = test::kStoredTask;
constexpr std::uint64_t kSummedStart = test::kStoredStart;
constexpr std::size_t kPages = 40;

std::vector<std::byte> someContent() {
    std::vector<std::byte> content(kPages * kImagePageSize);
    for (std::size_t at = 0; at < content.size(); ++at)
        content[at] = at / kImagePageSize % 4 == 1 ? std::byte{} : static_cast<std::byte>(at * 7 / 3 % 251);
    return content;
}

/// Directory with a dump of one image, pages and an inventory.
class Dump {
public:
    explicit Dump(const Striping& striping = {}, const Compression& compression = {}) : images(place_.images()) {
        images.takeChecksums();
        ImageWriter image = images.create(ImageKind::Fs, 7);
        FsEntry fs = FS_ENTRY__INIT;
        image.write(fs);
        image.finish();
        FilePageSinks sinks(images, striping, 1, compression);
        const auto sink = sinks.open(kSummedTask, content.size());
        // The second run continues the first one, so they become one entry.
        const std::uint64_t half = content.size() / 2;
        const PageRun runs[] = {{kSummedStart, half, PageFlags::Present},
                                {kSummedStart + half, half, PageFlags::Present}};
        sink->add(runs);
        for (std::uint64_t at = 0; at < content.size(); at += half) {
            const kernel::RemoteRange range{kSummedStart + at, half};
            sink->write({at, {&range, 1}, std::span(content).subspan(at, half)});
        }
        sink->finish();
        InventoryEntry inventory = INVENTORY_ENTRY__INIT;
        inventory.img_version = 2;
        completeImages(images, inventory, [] {});
    }

    [[nodiscard]] std::string path(const std::string& name) const { return place_.path() + "/" + name; }

    /// Inverts one bit of a file.
    void flip(const std::string& name, std::size_t offset) const {
        UniqueFd file(sys(::open(path(name).c_str(), O_RDWR | O_CLOEXEC), "open {}", name));
        char byte = 0;
        REQUIRE(::pread(file.get(), &byte, 1, static_cast<off_t>(offset)) == 1);
        byte ^= 4;
        REQUIRE(::pwrite(file.get(), &byte, 1, static_cast<off_t>(offset)) == 1);
    }

    [[nodiscard]] std::string damage() const {
        return test::errorOf([&] { requireUndamaged(images, [] {}); });
    }

    [[nodiscard]] std::vector<std::byte> load(std::uint64_t from, std::uint64_t bytes, bool compares = true) const {
        return test::loadStored(images, from, bytes, compares);
    }

    /// Returns the damages that a check of all pages reports.
    [[nodiscard]] std::vector<std::string> check(std::uint64_t& compared) const {
        std::vector<std::string> damages;
        std::mutex mutex;
        const PageCheck done(
            images,
            [&](const std::string& damage) {
                const std::lock_guard lock(mutex);
                damages.push_back(damage);
            },
            [] {});
        compared = done.compared();
        return damages;
    }

    const std::vector<std::byte> content = someContent();

private:
    test::TemporaryDir place_;

public:
    ImageDir images;
};

}  // namespace

TEST_CASE("the checksums of a file don't depend on the pieces that its bytes come in") {
    const Checksum checksum;
    const std::vector<std::byte> content = someContent();
    const auto bytes = std::span(content).first(3 * kChecksumPiece + 100);
    FileSumming whole(checksum);
    whole.add(bytes);
    const FileSum expected = whole.finish("name");
    CHECK(expected.size == bytes.size());
    REQUIRE(expected.pieces.size() == 4);
    CHECK(expected.pieces[1] == checksum.of(bytes.subspan(kChecksumPiece, kChecksumPiece)));
    CHECK(expected.pieces[3] == checksum.of(bytes.last(100)));
    for (const std::size_t step : {1U, 100U, 4095U, 4097U, 9000U}) {
        FileSumming parts(checksum);
        for (std::size_t at = 0; at < bytes.size(); at += step)
            parts.add(bytes.subspan(at, std::min(step, bytes.size() - at)));
        CHECK(parts.finish("name") == expected);
    }
    CHECK(FileSumming(checksum).finish("empty") == FileSum{"empty", 0, {}});
}

TEST_CASE("the checksum is that of XXH3, as other programs have it") {
    // xxhsum -H3 of "abc": 78af5f94892f3950
    CHECK(Checksum().of(test::bytesOf("abc")) == 0x892f3950);
}

TEST_CASE("each byte of each image that changes is found before anything is made of it") {
    const Dump dump;
    CHECK(dump.damage().empty());
    for (const char* const name : {"fs-7.img", "inventory.img", "pagemap-7.img", "checksums-1.img"}) {
        const std::size_t size = test::contentOf(dump.path(name)).size();
        for (std::size_t at = 0; at < size; ++at) {
            CAPTURE(name, at);
            dump.flip(name, at);
            CHECK(!dump.damage().empty());
            dump.flip(name, at);
        }
    }
    CHECK(dump.damage().empty());
}

TEST_CASE("errors about a damaged image have its name and the offset") {
    const Dump dump;
    dump.flip("fs-7.img", 9);
    CHECK_THAT(dump.damage(), Contains("fs-7.img: the ") && Contains("bytes at offset 0x0 are damaged"));
    dump.flip("fs-7.img", 9);
    REQUIRE(::truncate(dump.path("fs-7.img").c_str(), 5) == 0);
    CHECK_THAT(dump.damage(), Contains("fs-7.img: it has 5 bytes, but"));
    REQUIRE(::unlink(dump.path("fs-7.img").c_str()) == 0);
    CHECK_THAT(dump.damage(), Contains("fs-7.img: it isn't there"));
    REQUIRE(::unlink(dump.path("checksums-1.img").c_str()) == 0);
    CHECK_THAT(dump.damage(), Contains("checksums-1.img") && Contains("which its inventory names"));
}

TEST_CASE("a list of checksums that contradicts itself is refused") {
    const test::TemporaryDir place;
    ImageDir images = place.images();
    images.takeChecksums();
    writeChecksums(images, ChecksumList::OfDump, std::vector<FileSum>{{"../passwd", 1, {7}}});
    CHECK_THAT(test::errorOf([&] { requireUndamaged(images, [] {}); }),
               Contains("\"../passwd\" is no name of an image"));
    writeChecksums(images, ChecksumList::OfDump, std::vector<FileSum>{{"fs-7.img", 4097, {7}}});
    CHECK_THAT(test::errorOf([&] { requireUndamaged(images, [] {}); }),
               Contains("1 checksums of fs-7.img, which has 4097 bytes"));
}

TEST_CASE("files that were written by others are in the list, too") {
    const test::TemporaryDir place;
    ImageDir images = place.images();
    images.takeChecksums();
    const std::vector<std::byte> content = someContent();
    const UniqueFd archive = images.createRaw(ImageKind::TmpfsDev, 3);
    REQUIRE(::write(archive.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size()));
    {
        ImageWriter image = images.create(ImageKind::GhostFile, 9);
        FsEntry fs = FS_ENTRY__INIT;
        image.write(fs);
        REQUIRE(::write(image.flush(), "behind", 6) == 6);  // bypasses the writer, like sendfile(2)
        image.finish();
    }
    InventoryEntry inventory = INVENTORY_ENTRY__INIT;
    completeImages(images, inventory, [] {});
    const ChecksumCheck check(
        images, [](const std::string& damage) { FAIL(damage); }, [] {});
    CHECK(check.files() == 3);
    REQUIRE(::pwrite(archive.get(), "x", 1, 5000) == 1);
    CHECK_THAT(test::errorOf([&] { requireUndamaged(images, [] {}); }),
               Contains("tmpfs-dev-3.tar.gz.img: the 4096 bytes at offset 0x1000"));
}

TEST_CASE("pages are compared as they are read, whatever form they are stored in") {
    struct Form {
        const char* name;
        Striping striping;
        Compression compression;
    };
    const std::vector<Form> forms{{"one file", {}, {}},
                                  {"three files", {3, 0, true}, {}},
                                  {"lz4", {}, Compression::with(model::PageCodec::Lz4, 1, 3 * kImagePageSize)},
                                  {"zstd", {}, Compression::with(model::PageCodec::Zstd, 1, kImagePageSize)}};
    for (const Form& form : forms) {
        CAPTURE(form.name);
        const Dump dump(form.striping, form.compression);
        CHECK(dump.load(0, dump.content.size()) == dump.content);
        // Parts of pages, and single pages.
        const auto part = std::span(dump.content).subspan(4 * kImagePageSize, 5000);
        CHECK(dump.load(4 * kImagePageSize, 5000) == std::vector<std::byte>(part.begin(), part.end()));
        std::uint64_t compared = 0;
        CHECK(dump.check(compared).empty());
        CHECK(compared == dump.content.size());

        dump.flip("pages-1.img", 3);
        const std::string error = test::errorOf([&] { (void)dump.load(0, dump.content.size()); });
        CHECK_THAT(error, Contains("pages-1.img") && Contains("0x0"));
        const auto damages = dump.check(compared);
        REQUIRE(!damages.empty());
        CHECK_THAT(damages.front(), Contains("pages-1.img") && Contains("pagemap-7.img) at 0x10000"));
        // Content of other pages is unchanged.
        CHECK_NOTHROW(dump.load(8 * kImagePageSize, kImagePageSize));
    }
}

TEST_CASE("content that has become a hole is damaged, and isn't compared if that isn't wanted") {
    const Dump dump;
    REQUIRE(::truncate(dump.path("pages-1.img").c_str(), 0) == 0);
    REQUIRE(::truncate(dump.path("pages-1.img").c_str(), static_cast<off_t>(dump.content.size())) == 0);
    CHECK_THAT(test::errorOf([&] { (void)dump.load(0, kImagePageSize); }),
               Contains("pages-1.img at offset 0x0: a page is damaged"));
    CHECK(dump.load(0, kImagePageSize, false) == std::vector<std::byte>(kImagePageSize));
    CHECK_NOTHROW(dump.load(kImagePageSize, kImagePageSize));
}

TEST_CASE("a pagemap whose checksums don't fit its pages is refused") {
    const test::TemporaryDir place;
    const ImageDir images = place.images();
    const auto store = [&](std::uint32_t kind, std::vector<std::uint32_t> sums) {
        ImageWriter pagemap = images.create(ImageKind::Pagemap, kSummedTask.id);
        PagemapHead head = PAGEMAP_HEAD__INIT;
        head.pages_id = 1;
        head.has_checksum = 1;
        head.checksum = kind;
        pagemap.write(head);
        PagemapEntry entry = PAGEMAP_ENTRY__INIT;
        entry.vaddr = kSummedStart;
        entry.has_nr_pages = 1;
        entry.nr_pages = 2;
        entry.n_checksums = sums.size();
        entry.checksums = sums.data();
        pagemap.write(entry);
        pagemap.finish();
        return test::errorOf([&] { (void)Pagemap::load(images, ImageKind::Pagemap, kSummedTask.id); });
    };
    CHECK_THAT(store(kXxh3Checksum, {1}), Contains("it has 1 checksums for the content of 2 pages"));
    CHECK_THAT(store(kXxh3Checksum, {}), Contains("it has 0 checksums for the content of 2 pages"));
    CHECK_THAT(store(9, {1, 2}), Contains("a kind that this criu doesn't know: 9"));
    CHECK(store(kXxh3Checksum, {1, 2}).empty());
}
