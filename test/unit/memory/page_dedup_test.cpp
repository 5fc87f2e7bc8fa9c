// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/page_dedup.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/sparse_file.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/memory/pages/page_reader.hpp"

using namespace criu;
using namespace criu::memory;

namespace {

constexpr MemoryObject kDedupObject{MemoryObject::Kind::Process, 7};
constexpr std::uint64_t kDedupStart = 0x100000;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// Returns the byte at an address in a dump; it differs between dumps.
std::byte dedupContentOf(std::uint64_t address, unsigned dump) {
    return static_cast<std::byte>(1 + (address / kImagePageSize * 7 + dump * 31) % 251);
}

/// Chain of directories; each has the previous one as its parent.
class DedupChain {
public:
    DedupChain() : root_(std::filesystem::temp_directory_path() / fmt::format("criu-dedup-{}", ::getpid())) {
        std::filesystem::remove_all(root_);
        std::filesystem::create_directory(root_);
    }
    ~DedupChain() { std::filesystem::remove_all(root_); }

    [[nodiscard]] std::string path(unsigned number) const { return root_ / std::to_string(number); }

    /// Writes a dump with these runs. Runs that are present have content of this dump.
    void dump(unsigned number, const std::vector<PageRun>& runs, unsigned files = 1) {
        std::filesystem::create_directory(path(number));
        ImageDir images = ImageDir::open(path(number));
        if (number > 0)
            images.linkParent(fmt::format("../{}", number - 1));
        FilePageSinks sinks(images, Striping::asWished(files));
        const auto sink = sinks.open(kDedupObject, files * kMiB);
        std::uint64_t position = sink->add(runs);
        for (const PageRun& run : runs) {
            if (!has(run.flags, PageFlags::Present))
                continue;
            std::vector<std::byte> content(run.bytes);
            for (std::uint64_t at = 0; at < run.bytes; ++at)
                content[at] = dedupContentOf(run.address + at, number);
            for (std::uint64_t done = 0; done < run.bytes;) {
                const std::uint64_t part = std::min(run.bytes - done, kContentBlock - position % kContentBlock);
                const kernel::RemoteRange range{run.address + done, part};
                sink->write({position, std::span(&range, 1), std::span(content).subspan(done, part)});
                done += part;
                position += part;
            }
        }
        sink->finish();
    }

    [[nodiscard]] ImageDir open(unsigned number) const {
        ImageDir images = ImageDir::open(path(number));
        images.openParents();
        return images;
    }

    /// Returns the bytes of all pages files of a directory, without holes. The block count of stat(2) isn't used: ext4
    /// includes the metadata of many holes in it.
    [[nodiscard]] std::uint64_t taken(unsigned number) const {
        std::uint64_t bytes = 0;
        for (const auto& entry : std::filesystem::directory_iterator(path(number)))
            if (entry.path().filename().string().starts_with("pages-")) {
                const UniqueFd file(
                    sys(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC), "open {}", entry.path().c_str()));
                forEachData(file.get(), entry.file_size(),
                            [&](std::uint64_t start, std::uint64_t end) { bytes += end - start; });
            }
        return bytes;
    }

private:
    std::filesystem::path root_;
};

/// Returns the dump whose page is at the address, by its content: number of the dump, or -1 for zeroes.
int dumpOf(const ImageDir& images, std::uint64_t address, unsigned dumps) {
    const auto source = FilePageSources(images).openRequired(kDedupObject);
    PageReader reader(source);
    std::vector<std::byte> page(kImagePageSize);
    const auto jobs = source.jobs(address, address + kImagePageSize);
    REQUIRE(jobs.size() == 1);
    reader.read(jobs.front(), page);
    for (unsigned dump = 0; dump < dumps; ++dump)
        if (std::all_of(page.begin(), page.end(),
                        [&](std::byte byte) { return byte == dedupContentOf(address, dump); }))
            return static_cast<int>(dump);
    return std::all_of(page.begin(), page.end(), [](std::byte byte) { return byte == std::byte{}; }) ? -1 : -2;
}

constexpr auto kDedupPresent = PageFlags::Present;
constexpr auto kDedupParent = PageFlags::Parent;

}  // namespace

TEST_CASE("what a dump has itself is freed in all earlier ones, and nothing else", "[pages]") {
    for (const unsigned files : {1U, 3U}) {
        CAPTURE(files);
        DedupChain chain;
        const std::uint64_t all = 6 * kMiB;
        chain.dump(0, {{kDedupStart, all, kDedupPresent}}, files);
        chain.dump(1,
                   {{kDedupStart, kMiB, kDedupParent},
                    {kDedupStart + kMiB, 2 * kMiB, kDedupPresent},
                    {kDedupStart + 3 * kMiB, 3 * kMiB, kDedupParent}},
                   files);
        // Every second page of the last dump, across the border of a stripe.
        std::vector<PageRun> runs{{kDedupStart, 2 * kMiB, kDedupParent}};
        for (std::uint64_t at = 2 * kMiB; at < 4 * kMiB; at += 2 * kImagePageSize) {
            runs.push_back({kDedupStart + at, kImagePageSize, kDedupPresent});
            runs.push_back({kDedupStart + at + kImagePageSize, kImagePageSize, kDedupParent});
        }
        runs.push_back({kDedupStart + 4 * kMiB, 2 * kMiB, kDedupParent});
        chain.dump(2, runs, files);

        const ImageDir images = chain.open(2);
        const std::uint64_t before[] = {chain.taken(0), chain.taken(1), chain.taken(2)};
        CHECK(before[0] >= all);
        const std::uint64_t freed = freeReplacedPages(images, [] {});
        CHECK(freed == kMiB + kMiB / 2);  // all of the first dump, and the own content of the second
        CHECK(chain.taken(0) == before[0] - kMiB);
        CHECK(chain.taken(1) == before[1] - kMiB / 2);
        CHECK(chain.taken(2) == before[2]);
        for (std::uint64_t at = 0; at < all; at += kImagePageSize) {
            const bool alternates = at >= 2 * kMiB && at < 4 * kMiB;
            int expected = at >= kMiB && at < 3 * kMiB ? 1 : 0;
            if (alternates && at / kImagePageSize % 2 == 0)
                expected = 2;
            if (const int found = dumpOf(images, kDedupStart + at, 3); found != expected)
                FAIL("page at " << at << " is of dump " << found << " instead of " << expected);
        }
        // A second call frees nothing, and loses nothing.
        (void)freeReplacedPages(images, [] {});
        CHECK(chain.taken(0) == before[0] - kMiB);
        CHECK(dumpOf(images, kDedupStart + 3 * kMiB + kImagePageSize, 3) == 0);
    }
}

TEST_CASE("a dump whose own pages aren't all there frees nothing", "[pages]") {
    DedupChain chain;
    chain.dump(0, {{kDedupStart, 2 * kMiB, kDedupPresent}});
    chain.dump(1, {{kDedupStart, kMiB, kDedupPresent}, {kDedupStart + kMiB, kMiB, kDedupParent}});
    const std::uint64_t before = chain.taken(0);
    std::filesystem::resize_file(chain.path(1) + "/pages-1.img", kMiB - kImagePageSize);
    CHECK_THROWS_WITH(freeReplacedPages(chain.open(1), [] {}), Catch::Contains("pages-1.img: has"));
    CHECK(chain.taken(0) == before);
}

TEST_CASE("nothing is freed where earlier images are signed", "[pages]") {
    DedupChain chain;
    chain.dump(0, {{kDedupStart, 2 * kMiB, kDedupPresent}});
    chain.dump(1, {{kDedupStart, kMiB, kDedupPresent}, {kDedupStart + kMiB, kMiB, kDedupParent}});
    chain.dump(2, {{kDedupStart, kMiB, kDedupPresent}, {kDedupStart + kMiB, kMiB, kDedupParent}});
    const std::uint64_t before[] = {chain.taken(0), chain.taken(1)};
    const auto number = GENERATE(0U, 1U);
    const std::string signature = chain.path(number) + "/signature.img";
    std::ofstream{signature};
    CHECK_THROWS_WITH(freeReplacedPages(chain.open(2), [] {}), Catch::Contains("are signed"));
    CHECK(chain.taken(0) == before[0]);
    CHECK(chain.taken(1) == before[1]);
    std::filesystem::rename(signature, chain.path(2) + "/signature.img");  // the last dumps stay unchanged
    CHECK(freeReplacedPages(chain.open(2), [] {}) == 2 * kMiB);
}

TEST_CASE("content is freed when it was read, if it was opened for that", "[pages]") {
    DedupChain chain;
    chain.dump(0, {{kDedupStart, 2 * kMiB, kDedupPresent}});
    const ImageDir images = chain.open(0);
    const auto source = FilePageSources(images).openRequired(kDedupObject);
    std::vector<std::byte> memory(2 * kMiB);
    const auto at = reinterpret_cast<std::uint64_t>(memory.data());
    const auto readHalf = [&](bool frees) {
        PageReader reader(source);
        if (frees)
            reader.freeWhatIsRead();
        for (const PageJob& job : source.jobs(kDedupStart, kDedupStart + kMiB)) {
            const PlacedPages placed{job, at};
            reader.read(std::span(&placed, 1));
        }
    };
    readHalf(false);
    CHECK(memory[kMiB - 1] == dedupContentOf(kDedupStart + kMiB - 1, 0));
    CHECK(chain.taken(0) == 2 * kMiB);
    readHalf(true);
    CHECK(memory[kMiB - 1] == dedupContentOf(kDedupStart + kMiB - 1, 0));
    CHECK(chain.taken(0) == kMiB);
    CHECK(dumpOf(images, kDedupStart, 1) == -1);
    CHECK(dumpOf(images, kDedupStart + kMiB, 1) == 0);
}

TEST_CASE("content that ends too early is an error that says where", "[pages]") {
    DedupChain chain;
    chain.dump(0, {{kDedupStart, 2 * kMiB, kDedupPresent}});
    chain.dump(1, {{kDedupStart, kMiB, kDedupPresent}, {kDedupStart + kMiB, kMiB, kDedupParent}});
    const ImageDir images = chain.open(1);
    const auto source = FilePageSources(images).openRequired(kDedupObject);
    std::vector<std::byte> memory(2 * kMiB);
    const auto jobs = source.jobs(kDedupStart, kDedupStart + 2 * kMiB);
    REQUIRE(jobs.size() == 2);
    PageReader reader(source);
    reader.read(jobs[1], std::span(memory).first(kImagePageSize));  // opens the file
    std::filesystem::resize_file(chain.path(0) + "/pages-1.img", kMiB + 5 * kImagePageSize);
    const auto readAll = [&] {
        reader.read(jobs[0], std::span(memory).first(kMiB));
        reader.read(jobs[1], std::span(memory).first(kMiB));
    };
    CHECK_THROWS_WITH(readAll(), Catch::Contains("parent/pages-1.img") && Catch::Contains("ends at 0x105000"));
    PageReader later(source);
    CHECK_THROWS_WITH(later.read(jobs[1], memory), Catch::Contains("pages-1.img: has 1069056 bytes"));
    std::filesystem::remove(chain.path(0) + "/pages-1.img");
    CHECK_THROWS_WITH(PageReader(source).read(jobs[1], memory), Catch::Contains("open pages-1.img in"));
}
