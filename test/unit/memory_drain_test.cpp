// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>

#include "criu/memory/bulk.hpp"
#include "image_fixture.hpp"

using namespace criu;
using namespace criu::memory;

namespace {

/// A file that blocks can be missing in.
struct Target {
    explicit Target(std::uint64_t size) : fd(sys(::memfd_create("pages", MFD_CLOEXEC), "make a memfd")) {
        sys(::ftruncate(fd.get(), static_cast<off_t>(size)), "size a memfd");
    }
    [[nodiscard]] std::string content() const {
        std::string bytes(static_cast<std::size_t>(::lseek(fd.get(), 0, SEEK_END)), '?');
        sys(::pread(fd.get(), bytes.data(), bytes.size(), 0), "read");
        return bytes;
    }
    [[nodiscard]] std::uint64_t allocated() const {
        struct stat status {};
        sys(::fstat(fd.get(), &status), "stat");
        return static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    UniqueFd fd;
};

/// Memory in which every page differs, but for those of zeroes.
Mapping makeMemory(std::size_t pages, const std::function<bool(std::size_t)>& isZero) {
    Mapping memory = Mapping::anonymous(pages * kPageSize);
    for (std::size_t page = 0; page < pages; ++page)
        if (!isZero(page))
            for (std::size_t at = 0; at < kPageSize; at += 8) {
                const std::uint64_t value = page * kPageSize + at + 1;
                std::memcpy(memory.as<char>() + page * kPageSize + at, &value, sizeof(value));
            }
    return memory;
}

std::string text(const Mapping& memory, std::size_t from, std::size_t pages) {
    return {memory.as<char>() + from * kPageSize, pages * kPageSize};
}

std::uint64_t addressOf(const Mapping& memory, std::size_t page) {
    return reinterpret_cast<std::uint64_t>(memory.as<char>() + page * kPageSize);
}

DrainSource self() {
    return {::getpid(), nullptr, -1};
}

}  // namespace

TEST_CASE("scattered ranges land one behind the other, zero pages become holes") {
    const Mapping memory = makeMemory(64, [](std::size_t page) { return page % 5 == 0; });
    const std::pair<std::size_t, std::size_t> runs[] = {{3, 4}, {40, 1}, {10, 12}, {0, 1}, {63, 1}};
    std::vector<DrainJob> jobs;
    std::string wanted;
    for (const auto& [first, pages] : runs) {
        jobs.push_back({addressOf(memory, first), pages * kPageSize, wanted.size()});
        wanted += text(memory, first, pages);
    }
    const Target target(wanted.size());
    Drainer drainer;
    drainer.drain(self(), target.fd.get(), jobs);
    CHECK(target.content() == wanted);
    CHECK(target.allocated() == wanted.size() - 6 * kPageSize);  // pages 5, 40, 10, 15, 20 and 0
    CHECK(drainer.zeroBytes() == 6 * kPageSize);
    CHECK(drainer.bufferBytes() > 0);
}

TEST_CASE("a page with one byte at its end is no zero page") {
    const Mapping memory = makeMemory(2, [](std::size_t) { return true; });
    memory.as<char>()[kPageSize - 1] = 1;
    const Target target(2 * kPageSize);
    const DrainJob job{addressOf(memory, 0), 2 * kPageSize, 0};
    Drainer drainer;
    drainer.drain(self(), target.fd.get(), {&job, 1});
    CHECK(target.content() == text(memory, 0, 2));
    CHECK(drainer.zeroBytes() == kPageSize);
}

TEST_CASE("large amounts are moved by threads, gaps in the file are left alone") {
    const std::size_t pages = 24 * 256;  // 24 MiB
    const Mapping memory = makeMemory(pages, [](std::size_t page) { return page % 100 < 3; });
    const std::size_t gap = 7 * kPageSize;
    std::vector<DrainJob> jobs;
    std::uint64_t offset = 0;
    for (std::size_t page = 0; page < pages; page += 96) {
        jobs.push_back({addressOf(memory, page), 96 * kPageSize, offset});
        offset += 96 * kPageSize + gap;
    }
    const Target target(offset);
    std::atomic<std::uint64_t> done{0};
    Drainer::Options options;
    options.progress = [&done](std::uint64_t bytes) { done += bytes; };
    Drainer drainer(options);
    drainer.drain(self(), target.fd.get(), jobs);
    CHECK(done == pages * kPageSize);
    const std::string content = target.content();
    bool same = true;
    for (const DrainJob& job : jobs)
        same = same &&
               std::memcmp(content.data() + job.fileOffset, reinterpret_cast<const void*>(job.address), job.bytes) == 0;
    CHECK(same);
    CHECK(std::all_of(jobs.begin(), jobs.end(), [&](const DrainJob& job) {
        const auto first = content.begin() + static_cast<std::ptrdiff_t>(job.fileOffset + job.bytes);
        return std::all_of(first, first + static_cast<std::ptrdiff_t>(gap), [](char byte) { return byte == 0; });
    }));

    // The same again, with as many buffers as before.
    const std::uint64_t buffers = drainer.bufferBytes();
    drainer.drain(self(), target.fd.get(), jobs);
    CHECK(drainer.bufferBytes() == buffers);
}

TEST_CASE("many tiny ranges") {
    const std::size_t pages = 5000;
    const Mapping memory = makeMemory(2 * pages, [](std::size_t page) { return page % 2 == 1; });
    std::vector<DrainJob> jobs;
    for (std::size_t page = 0; page < pages; ++page)
        jobs.push_back({addressOf(memory, 2 * page), kPageSize, page * kPageSize});
    const Target target(pages * kPageSize);
    Drainer drainer;
    drainer.drain(self(), target.fd.get(), jobs);
    const std::string content = target.content();
    bool same = true;
    for (std::size_t page = 0; page < pages; ++page)
        same = same && std::memcmp(content.data() + page * kPageSize, reinterpret_cast<const void*>(jobs[page].address),
                                   kPageSize) == 0;
    CHECK(same);
}

TEST_CASE("a file is a source, too; beyond its end there are zeroes") {
    const UniqueFd source(sys(::memfd_create("source", MFD_CLOEXEC), "make a memfd"));
    const std::string content(kPageSize + 100, 'x');
    sys(::pwrite(source.get(), content.data(), content.size(), kPageSize), "fill");
    const Target target(3 * kPageSize);
    const DrainJob jobs[] = {{kPageSize, 2 * kPageSize, 0}, {0, kPageSize, 2 * kPageSize}};
    Drainer drainer;
    drainer.drain({0, nullptr, source.get()}, target.fd.get(), jobs);
    std::string wanted = content;
    wanted.resize(3 * kPageSize);
    CHECK(target.content() == wanted);
    CHECK(drainer.zeroBytes() == kPageSize);
}

TEST_CASE("memory that is gone is an error with its address") {
    Mapping memory = makeMemory(4, [](std::size_t) { return false; });
    const std::uint64_t address = addressOf(memory, 2);
    REQUIRE(::munmap(reinterpret_cast<void*>(address), kPageSize) == 0);
    const Target target(4 * kPageSize);
    const DrainJob job{addressOf(memory, 0), 4 * kPageSize, 0};
    Drainer drainer;
    CHECK_THAT(test::errorOf([&] {
                   drainer.drain(self(), target.fd.get(), {&job, 1});
               }),
               Catch::Contains(fmt::format("{:#x}", address)));
}

TEST_CASE("a wish to stop ends the work, also in threads") {
    for (const std::size_t pages : {std::size_t{4}, std::size_t{32 * 256}}) {
        const Mapping memory = makeMemory(pages, [](std::size_t) { return false; });
        const Target target(pages * kPageSize);
        const DrainJob job{addressOf(memory, 0), pages * kPageSize, 0};
        Drainer::Options options;
        options.stopWanted = [] { return true; };
        Drainer drainer(options);
        try {
            drainer.drain(self(), target.fd.get(), {&job, 1});
            FAIL("nothing was thrown");
        } catch (const Error& error) {
            CHECK(error.code() == EINTR);
        }
        CHECK(target.allocated() == 0);
    }
}

TEST_CASE("a run takes jobs bit by bit") {
    const std::size_t pages = 30 * 256;
    const Mapping memory = makeMemory(pages, [](std::size_t page) { return page % 11 == 0; });
    const Target target(pages * kPageSize);
    for (const unsigned threads : {1U, 2U, 5U}) {
        Drainer::Options options;
        options.threads = threads;
        Drainer drainer(options);
        Drainer::Run run(drainer, self(), target.fd.get());
        for (std::size_t page = 0; page < pages; page += 3) {
            const DrainJob job{addressOf(memory, page), 3 * kPageSize, page * kPageSize};
            run.add({&job, 1});
        }
        run.finish();
        CHECK(target.content() == text(memory, 0, pages));
        CHECK(drainer.zeroBytes() == (pages + 10) / 11 * kPageSize);
        CHECK(drainer.bufferBytes() == threads << 20);
        sys(::ftruncate(target.fd.get(), 0), "empty");
        sys(::ftruncate(target.fd.get(), static_cast<off_t>(pages * kPageSize)), "size");
    }
}

TEST_CASE("an unfinished run ends quietly") {
    const std::size_t pages = 30 * 256;
    const Mapping memory = makeMemory(pages, [](std::size_t) { return false; });
    const Target target(pages * kPageSize);
    Drainer drainer;
    const DrainJob job{addressOf(memory, 0), pages * kPageSize, 0};
    {
        Drainer::Run run(drainer, self(), target.fd.get());
        run.add({&job, 1});
    }
    drainer.drain(self(), target.fd.get(), {&job, 1});
    CHECK(target.content() == text(memory, 0, pages));
}

TEST_CASE("an error of a thread comes out of add or finish") {
    Mapping memory = makeMemory(30 * 256, [](std::size_t) { return false; });
    REQUIRE(::munmap(memory.as<char>() + 256 * kPageSize, kPageSize) == 0);
    const Target target(memory.size());
    Drainer drainer;
    Drainer::Run run(drainer, self(), target.fd.get());
    CHECK_THAT(test::errorOf([&] {
                   for (std::size_t page = 0; page < 30 * 256; ++page) {
                       const DrainJob job{addressOf(memory, page), kPageSize, page * kPageSize};
                       run.add({&job, 1});
                   }
                   run.finish();
               }),
               Catch::Contains(fmt::format("{:#x}", addressOf(memory, 256))));
}

TEST_CASE("a full disk is an error") {
    const Mapping memory = makeMemory(2, [](std::size_t) { return false; });
    const UniqueFd full(::open("/dev/full", O_RDWR | O_CLOEXEC));  // takes no byte
    REQUIRE(full);
    const DrainJob job{addressOf(memory, 0), 2 * kPageSize, 0};
    Drainer drainer;
    try {
        drainer.drain(self(), full.get(), {&job, 1});
        FAIL("nothing was thrown");
    } catch (const Error& error) {
        CHECK(error.code() == ENOSPC);
    }
}
