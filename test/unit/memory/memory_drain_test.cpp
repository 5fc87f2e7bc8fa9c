// SPDX-License-Identifier: GPL-2.0-only
// Drains pages into a storage that isn't files. Tests of pages files are at the end.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>

#include "criu/memory/pages/drain.hpp"
#include "criu/memory/pages/pages_writer.hpp"
#include "image_fixture.hpp"
#include "pages_in_memory.hpp"

using namespace criu;
using namespace criu::memory;

namespace {

constexpr MemoryObject kDrainObject = MemoryObject::process(criu::TreePid(7));

/// A sink with its own storage.
struct Target {
    test::PagesInMemory pages;
    std::unique_ptr<PageSink> sink = static_cast<PageSinks&>(pages).open(kDrainObject, 0);
    [[nodiscard]] const test::PagesInMemory::Stored& stored() const { return pages.stored.at(kDrainObject); }
    [[nodiscard]] std::string content() const { return stored().content(); }
    /// Checks that every byte was written exactly once.
    [[nodiscard]] bool complete() const { return stored().written == stored().size; }
};

/// Returns memory in which all pages differ, except zero pages.
Mapping makeMemory(std::size_t pages, const std::function<bool(std::size_t)>& isZero) {
    Mapping memory = Mapping::anonymous(pages * kImagePageSize);
    for (std::size_t page = 0; page < pages; ++page)
        if (!isZero(page))
            for (std::size_t at = 0; at < kImagePageSize; at += 8) {
                const std::uint64_t value = page * kImagePageSize + at + 1;
                std::memcpy(memory.as<char>() + page * kImagePageSize + at, &value, sizeof(value));
            }
    return memory;
}

bool never(std::size_t) {
    return false;
}

std::string text(const Mapping& memory, std::size_t from, std::size_t pages) {
    return {memory.as<char>() + from * kImagePageSize, pages * kImagePageSize};
}

std::uint64_t addressOf(const Mapping& memory, std::size_t page) {
    return reinterpret_cast<std::uint64_t>(memory.as<char>() + page * kImagePageSize);
}

DrainJob jobFor(const Mapping& memory, std::size_t page, std::size_t pages) {
    return {{addressOf(memory, page), pages * kImagePageSize, PageFlags::Present}};
}

DrainSource self() {
    return {criu::HostPid(::getpid()), nullptr, -1};
}

}  // namespace

TEST_CASE("scattered ranges are stored one behind the other; pages of the parent take no room and aren't read") {
    const Mapping memory = makeMemory(64, never);
    const std::pair<std::size_t, std::size_t> runs[] = {{0, 1}, {3, 4}, {10, 12}, {40, 1}, {63, 1}};
    std::vector<DrainJob> jobs;
    std::string wanted;
    for (const auto& [first, pages] : runs) {
        jobs.push_back(jobFor(memory, first, pages));
        wanted += text(memory, first, pages);
    }
    // The page is unmapped, so reading it would be an error.
    REQUIRE(::munmap(memory.as<char>() + 50 * kImagePageSize, kImagePageSize) == 0);
    jobs.insert(jobs.begin() + 4, {{addressOf(memory, 50), kImagePageSize, PageFlags::Parent}});
    Target target;
    Drainer drainer;
    drainer.drain(self(), *target.sink, jobs);
    CHECK(target.content() == wanted);
    CHECK(target.complete());
    CHECK(target.sink->contentSize() == wanted.size());
    CHECK_FALSE(target.stored().shared);
    REQUIRE(target.stored().ranges.size() == 6);
    CHECK(target.stored().ranges[4] == PagemapRange{addressOf(memory, 50), 1, PageFlags::Parent, 18 * kImagePageSize});
    CHECK(target.stored().ranges[5].vaddr == addressOf(memory, 63));
    CHECK(drainer.bufferBytes() > 0);
}

TEST_CASE("large amounts are copied by threads") {
    const std::size_t pages = 24 * 256;  // 24 MiB
    const Mapping memory = makeMemory(pages, [](std::size_t page) { return page % 100 < 3; });
    std::vector<DrainJob> jobs;
    for (std::size_t page = 0; page < pages; page += 96)
        jobs.push_back(jobFor(memory, page, 96));
    std::atomic<std::uint64_t> done{0};
    Drainer::Options options;
    options.progress = [&done](std::uint64_t bytes) { done += bytes; };
    options.threads = 3;
    Drainer drainer(options);
    {
        Target target;
        drainer.drain(self(), *target.sink, jobs);
        CHECK(done == pages * kImagePageSize);
        CHECK(target.stored().shared);
        CHECK(target.complete());
        CHECK(target.content() == text(memory, 0, pages));
    }
    // A second drain uses as many buffers as the first.
    const std::uint64_t buffers = drainer.bufferBytes();
    Target target;
    drainer.drain(self(), *target.sink, jobs);
    CHECK(drainer.bufferBytes() == buffers);
}

TEST_CASE("many tiny ranges") {
    const std::size_t pages = 5000;
    const Mapping memory = makeMemory(2 * pages, [](std::size_t page) { return page % 2 == 1; });
    std::vector<DrainJob> jobs;
    for (std::size_t page = 0; page < pages; ++page)
        jobs.push_back(jobFor(memory, 2 * page, 1));
    Target target;
    Drainer drainer;
    drainer.drain(self(), *target.sink, jobs);
    const std::string content = target.content();
    REQUIRE(content.size() == pages * kImagePageSize);
    bool same = true;
    for (std::size_t page = 0; page < pages; ++page)
        same = same && std::memcmp(content.data() + page * kImagePageSize,
                                   reinterpret_cast<const void*>(jobs[page].run.address), kImagePageSize) == 0;
    CHECK(same);
}

TEST_CASE("a file is a source, too; beyond its end there are zeroes") {
    const UniqueFd source(sys(::memfd_create("source", MFD_CLOEXEC), "make a memfd"));
    const std::string content(kImagePageSize + 100, 'x');
    sys(::pwrite(source.get(), content.data(), content.size(), kImagePageSize), "fill");
    const DrainJob jobs[] = {{{0, kImagePageSize}}, {{kImagePageSize, 2 * kImagePageSize}}};
    Target target;
    Drainer drainer;
    drainer.drain({{}, nullptr, source.get()}, *target.sink, jobs);
    std::string wanted = std::string(kImagePageSize, '\0') + content;
    wanted.resize(3 * kImagePageSize);
    CHECK(target.content() == wanted);
}

TEST_CASE("memory that is gone is an error with its address") {
    const Mapping memory = makeMemory(4, never);
    const std::uint64_t address = addressOf(memory, 2);
    REQUIRE(::munmap(reinterpret_cast<void*>(address), kImagePageSize) == 0);
    const DrainJob job = jobFor(memory, 0, 4);
    Target target;
    Drainer drainer;
    CHECK_THAT(test::errorOf([&] {
                   drainer.drain(self(), *target.sink, {&job, 1});
               }),
               Catch::Contains(fmt::format("{:#x}", address)));
}

TEST_CASE("a wish to stop ends the work, also in threads") {
    for (const std::size_t pages : {std::size_t{4}, std::size_t{32 * 256}}) {
        const Mapping memory = makeMemory(pages, never);
        const DrainJob job = jobFor(memory, 0, pages);
        Drainer::Options options;
        options.stopWanted = [] { return true; };
        Target target;
        Drainer drainer(options);
        try {
            drainer.drain(self(), *target.sink, {&job, 1});
            FAIL("nothing was thrown");
        } catch (const Error& error) {
            CHECK(error.code() == EINTR);
        }
        CHECK(target.stored().written == 0);
    }
}

TEST_CASE("a run takes jobs bit by bit") {
    const std::size_t pages = 30 * 256;
    const Mapping memory = makeMemory(pages, [](std::size_t page) { return page % 11 == 0; });
    for (const unsigned threads : {1U, 2U, 5U}) {
        Drainer::Options options;
        options.threads = threads;
        Target target;
        Drainer drainer(options);
        Drainer::Run run(drainer, self(), *target.sink);
        for (std::size_t page = 0; page < pages; page += 3) {
            const DrainJob job = jobFor(memory, page, 3);
            run.add({&job, 1});
        }
        run.finish();
        CHECK(target.complete());
        CHECK(target.content() == text(memory, 0, pages));
        CHECK(drainer.bufferBytes() == threads << 20);
    }
}

TEST_CASE("an unfinished run ends quietly") {
    const std::size_t pages = 30 * 256;
    const Mapping memory = makeMemory(pages, never);
    const DrainJob job = jobFor(memory, 0, pages);
    Target unfinished;
    Target target;
    Drainer drainer;
    {
        Drainer::Run run(drainer, self(), *unfinished.sink);
        run.add({&job, 1});
    }
    drainer.drain(self(), *target.sink, {&job, 1});
    CHECK(target.content() == text(memory, 0, pages));
}

TEST_CASE("an error of a thread comes out of add or finish") {
    const Mapping memory = makeMemory(30 * 256, never);
    REQUIRE(::munmap(memory.as<char>() + 256 * kImagePageSize, kImagePageSize) == 0);
    Target target;
    Drainer drainer;
    Drainer::Run run(drainer, self(), *target.sink);
    CHECK_THAT(test::errorOf([&] {
                   for (std::size_t page = 0; page < 30 * 256; ++page) {
                       const DrainJob job = jobFor(memory, page, 1);
                       run.add({&job, 1});
                   }
                   run.finish();
               }),
               Catch::Contains(fmt::format("{:#x}", addressOf(memory, 256))));
}

TEST_CASE("a storage that takes nothing is an error") {
    const Mapping memory = makeMemory(2, never);
    const DrainJob job = jobFor(memory, 0, 2);
    test::PagesInMemory full;
    full.failWrites = true;
    const std::unique_ptr<PageSink> sink = static_cast<PageSinks&>(full).open(kDrainObject, 0);
    Drainer drainer;
    try {
        drainer.drain(self(), *sink, {&job, 1});
        FAIL("nothing was thrown");
    } catch (const Error& error) {
        CHECK(error.code() == ENOSPC);
    }
}

TEST_CASE("pages files have holes for zero pages, whether one thread writes or several may") {
    const Mapping memory = makeMemory(64, [](std::size_t page) { return page % 5 == 0; });
    memory.as<char>()[6 * kImagePageSize - 1] = 1;  // no zero page any more
    for (const bool shared : {false, true}) {
        const UniqueFd file(sys(::memfd_create("pages", MFD_CLOEXEC), "make a memfd"));
        sys(::ftruncate(file.get(), static_cast<off_t>(memory.size())), "size a memfd");
        PagesWriter writer(file.get());
        if (shared)
            writer.share();
        CHECK(writer.write(0, memory.bytes()) == 12 * kImagePageSize);
        std::string content(memory.size(), '?');
        REQUIRE(::pread(file.get(), content.data(), content.size(), 0) == static_cast<ssize_t>(content.size()));
        CHECK(content == text(memory, 0, 64));
        struct stat status {};
        REQUIRE(::fstat(file.get(), &status) == 0);
        CHECK(static_cast<std::uint64_t>(status.st_blocks) * 512 == memory.size() - 12 * kImagePageSize);
    }
}

TEST_CASE("a full disk is an error") {
    const Mapping memory = makeMemory(2, never);
    const UniqueFd full(::open("/dev/full", O_RDWR | O_CLOEXEC));  // accepts no byte
    REQUIRE(full);
    try {
        PagesWriter(full.get()).write(0, memory.bytes());
        FAIL("nothing was thrown");
    } catch (const Error& error) {
        CHECK(error.code() == ENOSPC);
    }
}
