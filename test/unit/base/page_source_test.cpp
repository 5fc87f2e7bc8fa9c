// SPDX-License-Identifier: GPL-2.0-only
// Pages in images, and reading them: from files with their parents, and from a storage that isn't files.
#include <catch2/catch.hpp>

#include "criu/base/mapping.hpp"
#include "criu/memory/pages/missing_memory.hpp"
#include "criu/memory/pages/page_extensions.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/memory/pages/page_reader.hpp"
#include "criu/model/page_codec.hpp"
#include "image_fixture.hpp"
#include "images/pagemap.hpp"
#include "pages_in_memory.hpp"

using namespace criu;
using namespace criu::memory;
using Catch::Contains;
using JobState = PageJob::State;

namespace {

constexpr MemoryObject kSourceTask = MemoryObject::process(criu::TreePid(7));
constexpr PageFlags kPresentLazy = PageFlags::Present | PageFlags::Lazy;

/// Adds runs whose content is one letter for each page.
void store(PageSinks& sinks, const MemoryObject& object, const std::vector<PageRun>& runs, std::string_view letters) {
    std::uint64_t size = 0;
    for (const PageRun& run : runs)
        size += has(run.flags, PageFlags::Present) ? run.bytes : 0;
    const auto sink = sinks.open(object, size);
    std::uint64_t position = sink->add(runs);
    for (const PageRun& run : runs) {
        if (!has(run.flags, PageFlags::Present))
            continue;
        std::string content;
        for (std::uint64_t page = 0; page < run.bytes / kImagePageSize; ++page) {
            content.append(kImagePageSize, letters.front());
            letters.remove_prefix(1);
        }
        const kernel::RemoteRange range{run.address, run.bytes};
        sink->write({position, {&range, 1}, test::bytesOf(content)});
        position += run.bytes;
    }
    REQUIRE(letters.empty());
    sink->finish();
}

void store(const ImageDir& images, const MemoryObject& object, const std::vector<PageRun>& runs,
           std::string_view letters) {
    FilePageSinks sinks(images);
    store(sinks, object, runs, letters);
}

/// Pagemap of CRIU 4.2 or older, with a letter for each page as content.
struct OldEntry {
    std::uint64_t vaddr;
    std::uint32_t pages;
    std::optional<std::uint32_t> flags;
    std::optional<bool> inParent;
};
void storeOld(const ImageDir& images, std::uint32_t number, const std::vector<OldEntry>& entries,
              std::string_view letters) {
    ImageWriter pagemap = images.create(ImageKind::Pagemap, kSourceTask.id);
    PagemapHead head = PAGEMAP_HEAD__INIT;
    head.pages_id = number;
    pagemap.write(head);
    for (const OldEntry& old : entries) {
        PagemapEntry entry = PAGEMAP_ENTRY__INIT;
        entry.vaddr = old.vaddr;
        entry.compat_nr_pages = old.pages;
        entry.has_flags = old.flags.has_value();
        entry.flags = old.flags.value_or(0);
        entry.has_in_parent = old.inParent.has_value();
        entry.in_parent = old.inParent.value_or(false);
        pagemap.write(entry);
    }
    pagemap.finish();
    ImageWriter pages(images.createRaw(ImageKind::Pages, number), ImageKind::Pages, "pages");
    for (const char letter : letters)
        pages.payload(test::bytesOf(std::string(kImagePageSize, letter)));
    pages.finish();
}

/// Returns the resulting memory at these addresses, a letter for each page. '.' means no content.
std::string lettersOf(const PageSource& source, std::uint64_t start, std::uint64_t end) {
    const Mapping memory = Mapping::anonymous(end - start);
    std::memset(memory.data(), '.', memory.size());
    std::vector<PlacedPages> placed;
    source.forEach(start, end, [&](const PageJob& job) {
        if (job.state != JobState::Absent)
            placed.push_back({job, reinterpret_cast<std::uint64_t>(memory.data()) + (job.address - start)});
    });
    PageReader(source).read(placed);
    std::string letters;
    for (std::uint64_t at = 0; at < memory.size(); at += kImagePageSize) {
        const char* const page = memory.as<char>() + at;
        letters += std::all_of(page, page + kImagePageSize, [&](char byte) { return byte == *page; }) ? *page : '?';
    }
    return letters;
}

/// Directory with a parent, which has a parent, too.
struct SourceChain {
    SourceChain() {
        std::filesystem::create_directory(dir.path() + "/1");
        std::filesystem::create_directory(dir.path() + "/2");
        std::filesystem::create_directory(dir.path() + "/3");
        newest().linkParent("../2");
        ImageDir::open(dir.path() + "/2").linkParent("../1");
    }
    [[nodiscard]] ImageDir at(int number) const { return ImageDir::open(fmt::format("{}/{}", dir.path(), number)); }
    [[nodiscard]] ImageDir newest() const { return at(3); }

    test::TemporaryDir dir;
};

PageJob present(std::uint64_t address, std::uint64_t bytes, std::size_t layer, std::uint64_t position,
                bool lazyAllowed = false) {
    return {address, bytes, JobState::Present, lazyAllowed, layer, position};
}
PageJob other(std::uint64_t address, std::uint64_t bytes, JobState state = JobState::Absent) {
    return {address, bytes, state, state == JobState::Lazy, 0, 0};
}

}  // namespace

TEST_CASE("a source answers for all of a range") {
    test::PagesInMemory pages;
    store(pages, kSourceTask,
          {{0x2000, 0x2000}, {0x4000, 0x1000, kPresentLazy}, {0x8000, 0x3000, PageFlags::Lazy}, {0x10000, 0x1000}},
          "abcd");
    const auto source = static_cast<const PageSources&>(pages).open(kSourceTask);
    REQUIRE(source);
    CHECK(source->jobs(0, 0x20000) == std::vector<PageJob>{other(0, 0x2000), present(0x2000, 0x2000, 0, 0),
                                                           present(0x4000, 0x1000, 0, 0x2000, true),
                                                           other(0x5000, 0x3000), other(0x8000, 0x3000, JobState::Lazy),
                                                           other(0xb000, 0x5000), present(0x10000, 0x1000, 0, 0x3000),
                                                           other(0x11000, 0xf000)});
    // Cut at both ends.
    CHECK(source->jobs(0x3000, 0x4000) == std::vector<PageJob>{present(0x3000, 0x1000, 0, 0x1000)});
    CHECK(source->jobs(0x6000, 0x9000) ==
          std::vector<PageJob>{other(0x6000, 0x2000), other(0x8000, 0x1000, JobState::Lazy)});
    CHECK(source->jobs(0x20000, 0x21000) == std::vector<PageJob>{other(0x20000, 0x1000)});
    CHECK(source->jobs(0x3000, 0x3000).empty());
    CHECK(source->end() == 0x11000);
    CHECK(source->covers(0x4000, 0x9000));
    CHECK_FALSE(source->covers(0x5000, 0x8000));
    CHECK(lettersOf(*source, 0x1000, 0x6000) == ".abc.");
    CHECK_THAT(test::errorOf([&] { lettersOf(*source, 0x8000, 0x9000); }),
               Contains("0x8000") && Contains("a lazy dump"));
}

TEST_CASE("an object without pages has no source, one without content an empty one") {
    test::PagesInMemory pages;
    const PageSources& sources = pages;
    CHECK_FALSE(sources.open(kSourceTask));
    CHECK_THAT(test::errorOf([&] { (void)sources.openRequired(kSourceTask); }), Contains("no pages of process 7"));
    store(pages, kSourceTask, {}, "");
    const PageSource source = sources.openRequired(kSourceTask);
    CHECK(source.end() == 0);
    CHECK(source.jobs(0x1000, 0x3000) == std::vector<PageJob>{other(0x1000, 0x2000)});
}

TEST_CASE("pages files hold what a sink was given") {
    const test::TemporaryDir dir;
    const ImageDir images = dir.images();
    FilePageSinks sinks(images);
    const MemoryObject segment = MemoryObject::shared(12);
    store(sinks, kSourceTask, {{0x2000, 0x2000}, {0x4000, 0x1000, kPresentLazy}, {0x9000, 0x1000}}, "abcd");
    store(sinks, segment, {{0, 0x1000}}, "s");
    CHECK(test::contentOf(dir.path() + "/pages-1.img").size() == 4 * kImagePageSize);
    CHECK(images.exists(ImageKind::ShmemPagemap, 12));

    const FilePageSources sources(images);
    CHECK(lettersOf(*sources.open(kSourceTask), 0x1000, 0xb000) == ".abc....d.");
    CHECK(lettersOf(*sources.open(segment), 0, 0x2000) == "s.");
    CHECK_FALSE(sources.open(MemoryObject::shared(7)));
}

TEST_CASE("much content is spread over several pages files") {
    constexpr std::uint64_t kPages = 2000;  // seven pieces of a MiB, and a part of one
    const test::TemporaryDir dir;
    const ImageDir images = dir.images();
    FilePageSinks sinks(images, Striping::asWished(3));
    store(sinks, MemoryObject::process(criu::TreePid(5)), {{0x1000, 0x1000}}, "x");
    CHECK(sinks.extensions().empty());
    std::string letters;
    for (std::uint64_t page = 0; page < kPages; ++page)
        letters += static_cast<char>('a' + page * 7 % 26);
    store(sinks, kSourceTask, {{0x10000, 0x5000}, {0x20000, (kPages - 5) * kImagePageSize}}, letters);
    CHECK(sinks.extensions() == std::vector<std::string>{kStripedPages});
    store(sinks, MemoryObject::process(criu::TreePid(6)), {{0x1000, 0x1000}}, "y");

    constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
    CHECK(test::contentOf(dir.path() + "/pages-2.img").size() == 3 * kPiece);
    CHECK(test::contentOf(dir.path() + "/pages-3.img").size() == 2 * kPiece + kPages * kImagePageSize % kPiece);
    CHECK(test::contentOf(dir.path() + "/pages-4.img").size() == 2 * kPiece);

    const FilePageSources sources(images);
    const PageSource source = sources.openRequired(kSourceTask);
    CHECK(lettersOf(source, 0x10000, 0x15000) == letters.substr(0, 5));
    CHECK(lettersOf(source, 0x20000, 0x20000 + (kPages - 5) * kImagePageSize) == letters.substr(5));
    // Across the border of two pieces.
    CHECK(lettersOf(source, 0x20000 + 250 * kImagePageSize, 0x20000 + 253 * kImagePageSize) == letters.substr(255, 3));
    CHECK(lettersOf(*sources.open(MemoryObject::process(criu::TreePid(6))), 0x1000, 0x2000) == "y");

    images.unlink(ImageKind::Pages, 4);
    CHECK_THAT(test::errorOf([&] { (void)lettersOf(source, 0x10000, 0x11000); }), Contains("pages-4.img"));
    REQUIRE(::ftruncate(images.createRaw(ImageKind::Pages, 4).get(), 2 * kPiece - 1) == 0);
    CHECK_THAT(test::errorOf([&] { (void)lettersOf(source, 0x10000, 0x11000); }),
               Contains("pages-4.img: has 2097151 bytes, but its pagemap refers to 2097152"));
}

TEST_CASE("what isn't in a dump is looked for in its parents, cut where their ranges end") {
    const SourceChain chain;
    store(chain.at(1), kSourceTask, {{0x1000, 0x4000}, {0x7000, 0x2000}}, "abcdef");
    store(
        chain.at(2), kSourceTask,
        {{0x1000, 0x1000, PageFlags::Parent}, {0x2000, 0x1000}, {0x3000, 0x2000, PageFlags::Parent}, {0x7000, 0x1000}},
        "BG");
    store(chain.newest(), kSourceTask,
          {{0x1000, 0x3000, PageFlags::Parent}, {0x4000, 0x1000}, {0x7000, 0x1000, PageFlags::Parent}}, "D");
    ImageDir images = chain.newest();
    images.openParents();
    const FilePageSources sources(images);
    const PageSource source = sources.openRequired(kSourceTask);
    CHECK(source.jobs(0x1000, 0x9000) ==
          std::vector<PageJob>{present(0x1000, 0x1000, 2, 0), present(0x2000, 0x1000, 1, 0),
                               present(0x3000, 0x1000, 2, 0x2000), present(0x4000, 0x1000, 0, 0), other(0x5000, 0x2000),
                               present(0x7000, 0x1000, 1, 0x1000), other(0x8000, 0x1000)});
    CHECK(lettersOf(source, 0, 0xa000) == ".aBcD..G..");
    // From the middle of a range.
    CHECK(lettersOf(source, 0x3000, 0x5000) == "cD");
}

TEST_CASE("chains of older CRIUs: in_parent, entries without flags, counts of 32 bits") {
    const SourceChain chain;
    storeOld(chain.at(2), 1, {{0x1000, 3, {}, false}, {0x8000, 1, 6, {}}}, "abcz");
    storeOld(chain.newest(), 1, {{0x1000, 1, {}, {}}, {0x2000, 2, {}, true}, {0x8000, 1, 1, {}}}, "A");
    ImageDir images = chain.newest();
    images.openParents();
    const PageSource source = FilePageSources(images).openRequired(kSourceTask);
    CHECK(lettersOf(source, 0, 0x9000) == ".Abc....z");
    CHECK(source.jobs(0x8000, 0x9000) == std::vector<PageJob>{present(0x8000, 0x1000, 1, 0x3000, true)});
}

TEST_CASE("shared memory has parents, too") {
    const MemoryObject segment = MemoryObject::shared(3);
    const SourceChain chain;
    store(chain.at(2), segment, {{0, 0x2000}}, "ab");
    store(chain.newest(), segment, {{0, 0x1000}, {0x1000, 0x1000, PageFlags::Parent}}, "A");
    ImageDir images = chain.newest();
    images.openParents();
    CHECK(lettersOf(*FilePageSources(images).open(segment), 0, 0x3000) == "Ab.");
}

TEST_CASE("the same of a storage that isn't files") {
    test::PagesInMemory first;
    store(first, kSourceTask, {{0x1000, 0x3000}}, "abc");
    test::PagesInMemory second(&first);
    store(second, kSourceTask, {{0x1000, 0x1000, PageFlags::Parent}, {0x2000, 0x1000}}, "B");
    CHECK(lettersOf(*static_cast<const PageSources&>(second).open(kSourceTask), 0, 0x4000) == ".aB.");
}

TEST_CASE("content that should be in a parent but isn't is an error before anything is read") {
    const SourceChain chain;
    std::optional<ImageDir> images;  // must outlive the source
    const auto open = [&] {
        images.emplace(chain.newest());
        images->openParents();
        return FilePageSources(*images).open(kSourceTask);
    };
    store(chain.newest(), kSourceTask, {{0x1000, 0x3000, PageFlags::Parent}}, "");
    CHECK_THAT(test::errorOf([&] { (void)open(); }),
               Contains("pagemap-7.img") && Contains("0x1000") && Contains("/parent has no pagemap-7.img"));
    store(chain.at(2), kSourceTask, {{0x1000, 0x1000}, {0x3000, 0x1000}}, "ac");
    CHECK_THAT(test::errorOf([&] { (void)open(); }),
               Contains("0x2000") && Contains("/parent/pagemap-7.img, but isn't"));
    store(chain.at(2), kSourceTask, {{0x1000, 0x2000}, {0x3000, 0x1000, PageFlags::Parent}}, "ab");
    CHECK_THAT(test::errorOf([&] { (void)open(); }),
               Contains("0x3000") && Contains("/parent/parent has no pagemap-7.img"));
    store(chain.at(1), kSourceTask, {{0x3000, 0x1000}}, "c");
    CHECK(lettersOf(*open(), 0x1000, 0x4000) == "abc");

    std::filesystem::remove(chain.dir.path() + "/3/parent");
    CHECK_THAT(test::errorOf([&] { (void)open(); }), Contains("has no parent"));
}

TEST_CASE("parents that lead in a circle or nowhere are errors") {
    const SourceChain chain;
    chain.at(1).linkParent("../3");
    ImageDir images = chain.newest();
    CHECK_THAT(test::errorOf([&] { images.openParents(); }), Contains("circle"));
    chain.at(1).linkParent("../none");
    ImageDir again = chain.newest();
    CHECK_THAT(test::errorOf([&] { again.openParents(); }), Contains("open the parent of"));
}

TEST_CASE("what the links of parents say doesn't matter once they are open") {
    const SourceChain chain;
    store(chain.at(2), kSourceTask, {{0x1000, 0x1000}}, "a");
    store(chain.newest(), kSourceTask, {{0x1000, 0x1000, PageFlags::Parent}}, "");
    ImageDir images = chain.newest();
    images.openParents();
    std::filesystem::remove(chain.dir.path() + "/3/parent");
    CHECK(lettersOf(*FilePageSources(images).open(kSourceTask), 0x1000, 0x2000) == "a");
}

TEST_CASE("much content is read by threads, and a wish to stop is seen between pieces") {
    constexpr std::size_t kPages = 24 * 256;
    test::PagesInMemory pages;
    std::vector<PageRun> runs;
    std::string letters;
    for (std::size_t page = 0; page < kPages; page += 96) {
        runs.push_back({page * 2 * kImagePageSize, 96 * kImagePageSize});
        letters.append(96, static_cast<char>('A' + page / 96 % 26));
    }
    store(pages, kSourceTask, runs, letters);
    const PageSource source = static_cast<const PageSources&>(pages).openRequired(kSourceTask);
    std::string wanted;
    for (std::size_t run = 0; run < runs.size(); ++run)
        wanted += letters.substr(run * 96, 96) + std::string(96, '.');
    CHECK(lettersOf(source, 0, 2 * kPages * kImagePageSize) == wanted);

    const Mapping memory = Mapping::anonymous(kPages * kImagePageSize);
    std::vector<PlacedPages> placed;
    for (const PageRun& run : runs) {
        const auto jobs = source.jobs(run.address, run.address + run.bytes);
        placed.push_back({jobs.at(0), reinterpret_cast<std::uint64_t>(memory.data()) + run.address / 2});
    }
    std::atomic<int> asked{0};
    PageReader reader(source, [&asked] {
        if (++asked >= 3)
            failWith(EINTR, "the user wants it");
    });
    CHECK_THAT(test::errorOf([&] { reader.read(placed); }), Contains("the user wants it"));
    CHECK(asked < 12);
}

/// Copies pages of a source to a new mapping, at the same distances. `present`: page that exists before. Returns a
/// letter for each page, '0' for zeroes. Returns nothing if this machine has no userfaultfd.
std::optional<std::string> copiedLetters(const PageSource& source, std::uint64_t pages, std::uint64_t present) {
    const Mapping memory = Mapping::anonymous(pages * kImagePageSize);
    const auto at = reinterpret_cast<std::uint64_t>(memory.data());
    memory.as<char>()[present * kImagePageSize] = '?';
    {
        MissingMemory missing;
        if (!missing.add({at, at + memory.size()}))
            return std::nullopt;
        std::vector<PlacedPages> placed;
        for (const PageJob& job : source.jobs(0, memory.size()))
            if (job.present())
                placed.push_back({job, at + job.address, true});
        PageReader reader(source);
        REQUIRE(reader.canCopy(placed.at(0).job));
        reader.fillMissing(missing);
        reader.read(placed);
    }
    std::string letters;
    for (std::uint64_t page = 0; page < pages; ++page) {
        const char* const content = memory.as<char>() + page * kImagePageSize;
        CHECK(std::all_of(content, content + kImagePageSize, [&](char byte) { return byte == *content; }));
        letters += *content == 0 ? '0' : *content;
    }
    return letters;
}

TEST_CASE("pages are copied to memory without pages, from several files, and replace a page that exists") {
    constexpr std::uint64_t kPages = 1400;  // more than a stripe of two files
    const test::TemporaryDir dir;
    const ImageDir images = dir.images();
    std::string letters(kPages, 'a');
    for (std::uint64_t page = 0; page < kPages; ++page)
        letters[page] = static_cast<char>('a' + page % 26);
    FilePageSinks sinks(images, Striping::asWished(2));
    store(sinks, kSourceTask, {{0, 7 * kImagePageSize}, {9 * kImagePageSize, (kPages - 7) * kImagePageSize}}, letters);
    const FilePageSources sources(images);
    const auto copied = copiedLetters(sources.openRequired(kSourceTask), kPages + 2, 3);
    if (!copied) {
        WARN("skipped: no userfaultfd");
        return;
    }
    CHECK(*copied == letters.substr(0, 7) + "00" + letters.substr(7));
}

TEST_CASE("content isn't copied from compressed or unbuffered files, or from other storages") {
    const test::TemporaryDir dir;
    ImageDir images = dir.images();
    const auto canCopy = [](const PageSources& sources) {
        const PageSource source = sources.openRequired(kSourceTask);
        return PageReader(source).canCopy(source.jobs(0, kImagePageSize).at(0));
    };
    store(images, kSourceTask, {{0, kImagePageSize}}, "a");
    CHECK(canCopy(FilePageSources(images)));
    images.setDirectIo(true);
    CHECK_FALSE(canCopy(FilePageSources(images)));
    test::PagesInMemory pages;
    store(pages, kSourceTask, {{0, kImagePageSize}}, "a");
    CHECK_FALSE(canCopy(pages));

    const test::TemporaryDir packed;
    const ImageDir packedImages = packed.images();
    FilePageSinks sinks(packedImages, {}, 1, Compression::with(model::PageCodec::Lz4, 1, std::uint64_t{256} << 10));
    store(sinks, kSourceTask, {{0, kImagePageSize}}, "a");
    CHECK_FALSE(canCopy(FilePageSources(packedImages)));
}

TEST_CASE("a pages file that shrinks while its pages are copied is an error that names it") {
    const test::TemporaryDir dir;
    const ImageDir images = dir.images();
    store(images, kSourceTask, {{0, 2 * kImagePageSize}}, "ab");
    const FilePageSources sources(images);
    const PageSource source = sources.openRequired(kSourceTask);
    const Mapping memory = Mapping::anonymous(2 * kImagePageSize);
    const auto at = reinterpret_cast<std::uint64_t>(memory.data());
    MissingMemory missing;
    if (!missing.add({at, at + memory.size()})) {
        WARN("skipped: no userfaultfd");
        return;
    }
    PageReader reader(source);
    reader.fillMissing(missing);
    const std::vector<PlacedPages> placed{{source.jobs(0, 2 * kImagePageSize).at(0), at, true}};
    REQUIRE(reader.canCopy(placed.at(0).job));
    std::filesystem::resize_file(dir.path() + "/pages-1.img", kImagePageSize);
    CHECK_THAT(test::errorOf([&] { reader.read(placed); }), Contains("pages-1.img: the pages file ends at 0x1000"));
}

TEST_CASE("parts of a job can be read") {
    test::PagesInMemory pages;
    store(pages, kSourceTask, {{0x1000, 0x3000}}, "abc");
    const PageSource source = static_cast<const PageSources&>(pages).openRequired(kSourceTask);
    PageReader reader(source);
    const PageJob job = source.jobs(0x1000, 0x4000).at(0);
    std::byte some[100];
    reader.read(job.from(0x3000), some);
    CHECK(std::all_of(std::begin(some), std::end(some), [](std::byte byte) { return byte == std::byte{'c'}; }));
    CHECK_THAT(test::errorOf([&] { reader.read(source.jobs(0x5000, 0x6000).at(0), some); }),
               Contains("no content of 0x5000"));
}

TEST_CASE("a pages file that is too short is an error before anything is read") {
    const test::TemporaryDir dir;
    const ImageDir images = dir.images();
    store(images, kSourceTask, {{0x1000, 0x2000}}, "ab");
    std::filesystem::resize_file(dir.path() + "/pages-1.img", kImagePageSize + 1);
    CHECK_THAT(test::errorOf([&] { (void)FilePageSources(images).openRequired(kSourceTask); }),
               Contains(dir.path() + "/pages-1.img: has 4097 bytes, but its pagemap refers to 8192"));
}
