// SPDX-License-Identifier: GPL-2.0-only
// Runs the readers of mappings and pages on the test program itself and on its children.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/mm/pagemap.hpp"
#include "criu/kernel/mm/process_vm.hpp"
#include "criu/kernel/mm/userfaultfd.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "test/unit/kernel/zero_page.hpp"

using namespace criu;
using namespace criu::kernel;

TEST_CASE("maps and smaps show the same mappings; smaps adds flags") {
    const Mapping area = Mapping::anonymous(8 * machinePageSize());
    REQUIRE(::madvise(area.data(), area.size(), MADV_DONTFORK) == 0);
    area.as<char>()[0] = 1;
    const ProcPid self = ProcDir().open(::getpid());
    const auto address = reinterpret_cast<std::uint64_t>(area.data());
    const auto find = [&](const std::vector<Vma>& vmas) {
        for (const Vma& vma : vmas)
            if (vma.start <= address && address < vma.end)
                return vma;
        FAIL("mapping not found");
        return Vma{};
    };
    const Vma plain = find(readMaps(self));
    const Vma full = find(readSmaps(self));
    CHECK(plain.start == full.start);
    CHECK(plain.prot == (PROT_READ | PROT_WRITE));
    CHECK(plain.flags.empty());
    CHECK(full.flags.has(VmFlag::DontCopy));
    CHECK_FALSE(full.flags.has(VmFlag::Unknown));
    CHECK(full.kernelPageSize == machinePageSize());
    CHECK(full.anonymous >= machinePageSize());
}

TEST_CASE("a userfaultfd finds mappings of another one, and changes none") {
    const auto open = [] { return UniqueFd(static_cast<int>(::syscall(SYS_userfaultfd, uffdWpFlags()))); };
    const UniqueFd one = open();
    const UniqueFd other = open();
    if (!one || !other) {
        WARN("skipped: userfaultfd(2) isn't allowed");
        return;
    }
    enableUffd(one.get());
    enableUffd(other.get());
    // Three mappings without a gap; the middle one has other flags.
    const Mapping area = Mapping::anonymous(3 * machinePageSize());
    char* const memory = area.as<char>();
    REQUIRE(::madvise(memory + machinePageSize(), machinePageSize(), MADV_DONTDUMP) == 0);
    const auto at = [&](std::size_t page) {
        return reinterpret_cast<std::uint64_t>(memory + page * machinePageSize());
    };
    const ProcPid self = ProcDir().open(::getpid());
    const auto flags = [&] {
        std::vector<VmFlags> found;
        for (const Vma& vma : readSmaps(self))
            if (vma.end > at(0) && vma.start < at(3))
                found.push_back(vma.flags);
        return found;
    };
    const std::vector<VmFlags> before = flags();
    CHECK(findOtherUffd(other.get(), at(1), at(2)) == OtherUffd::None);
    CHECK(flags() == before);

    uffdio_register registered{};
    registered.range = {at(1), machinePageSize()};
    registered.mode = UFFDIO_REGISTER_MODE_MISSING;
    REQUIRE(::ioctl(one.get(), UFFDIO_REGISTER, &registered) == 0);
    CHECK(findOtherUffd(other.get(), at(0), at(1)) == OtherUffd::None);
    CHECK(findOtherUffd(other.get(), at(1), at(2)) == OtherUffd::Found);
    CHECK(findOtherUffd(other.get(), at(0), at(3)) == OtherUffd::Found);
    // The range ends with an area of the kernel, as in dumps.
    const std::vector<Vma> maps = readMaps(self);
    const auto vdso = std::find_if(maps.begin(), maps.end(), [](const Vma& vma) { return vma.name == "[vdso]"; });
    if (vdso != maps.end() && vdso->start > at(3)) {
        CHECK(findOtherUffd(other.get(), at(1), vdso->end) == OtherUffd::Found);
        CHECK(findOtherUffd(other.get(), at(2), vdso->end) != OtherUffd::Unknown);
    }
}

TEST_CASE("the first page with content") {
    const Mapping area = Mapping::anonymous(64 * machinePageSize());
    REQUIRE(::madvise(area.data(), area.size(), MADV_NOHUGEPAGE) == 0);
    const ProcPid self = ProcDir().open(::getpid());
    const PagemapScanner scanner(self);
    if (scanner.mode() != PagemapScanner::Mode::Scan) {
        WARN("skipped: this kernel has no PAGEMAP_SCAN");
        return;
    }
    const auto start = reinterpret_cast<std::uint64_t>(area.data());
    CHECK(scanner.first(start, start + area.size(), kAnonymousPages) == std::nullopt);
    area.as<char>()[40 * machinePageSize()] = 1;
    area.as<char>()[50 * machinePageSize()] = 1;
    CHECK(scanner.first(start, start + area.size(), kAnonymousPages) == start + 40 * machinePageSize());
    CHECK(scanner.first(start + 41 * machinePageSize(), start + area.size(), kAnonymousPages) ==
          start + 50 * machinePageSize());
}

TEST_CASE("PAGEMAP_SCAN and pagemap entries find the same pages of private memory") {
    if (!mapsZeroPage()) {
        WARN("skipped: this kernel doesn't map the zero page");
        return;
    }
    const std::size_t pages = 3000;
    const Mapping area = Mapping::anonymous(pages * machinePageSize());
    REQUIRE(::madvise(area.data(), area.size(), MADV_NOHUGEPAGE) == 0);
    char* const memory = area.as<char>();
    const auto at = [&](std::size_t page) {
        return reinterpret_cast<std::uint64_t>(memory + page * machinePageSize());
    };
    std::vector<PageRange> expected;
    for (std::size_t page = 0; page < pages; page += 2) {  // more runs than fit into one ioctl
        memory[page * machinePageSize()] = 1;
        expected.push_back({at(page), at(page + 1), PageIs::None});
    }
    static_cast<void>(*static_cast<volatile char*>(memory + machinePageSize()));  // maps the zero page
    const ProcPid self = ProcDir().open(::getpid());
    const PagemapScanner entries(self, PagemapScanner::Mode::Entries);
    if (entries.seesZeroPage())
        CHECK(entries.scan(at(0), at(pages), kAnonymousPages) == expected);
    const PagemapScanner scanner(self);
    if (scanner.mode() == PagemapScanner::Mode::Scan) {
        CHECK(scanner.scan(at(0), at(pages), kAnonymousPages) == expected);
        const PageQuery zero{.all = PageIs::PfnZero};
        CHECK(scanner.scan(at(0), at(pages), zero) == std::vector{PageRange{at(1), at(2), PageIs::None}});
    }
    CHECK(scanner.scan(at(4), at(4), kAnonymousPages).empty());
    CHECK_THROWS_AS(scanner.scan(at(0) + 1, at(4), kAnonymousPages), Error);
}

TEST_CASE("pages of a file's private mapping count only once written to") {
    const int fd = ::memfd_create("criu-unit", MFD_CLOEXEC);
    REQUIRE(fd >= 0);
    const UniqueFd file(fd);
    REQUIRE(::ftruncate(fd, 4 * machinePageSize()) == 0);
    void* const start = ::mmap(nullptr, 4 * machinePageSize(), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    REQUIRE(start != MAP_FAILED);
    const Mapping area(start, 4 * machinePageSize());
    auto* const memory = area.as<volatile char>();
    static_cast<void>(memory[0]);
    memory[2 * machinePageSize()] = 1;
    const auto base = reinterpret_cast<std::uint64_t>(start);
    const std::vector expected{PageRange{base + 2 * machinePageSize(), base + 3 * machinePageSize(), PageIs::None}};
    const ProcPid self = ProcDir().open(::getpid());
    CHECK(PagemapScanner(self).scan(base, base + area.size(), kPrivatePages) == expected);
    CHECK(PagemapScanner(self, PagemapScanner::Mode::Entries).scan(base, base + area.size(), kPrivatePages) ==
          expected);
}

TEST_CASE("guard pages are neither content nor overlooked") {
    const Mapping area = Mapping::anonymous(4 * machinePageSize());
    std::memset(area.data(), 1, area.size());
    constexpr int guardInstall = 102;
    if (::madvise(area.as<char>() + machinePageSize(), machinePageSize(), guardInstall) != 0) {
        WARN("skipped: this kernel hasn't got guard regions (6.13)");
        return;
    }
    const auto base = reinterpret_cast<std::uint64_t>(area.data());
    const auto page = [&](std::size_t number) { return base + number * machinePageSize(); };
    const ProcPid self = ProcDir().open(::getpid());
    for (const auto mode : {PagemapScanner::Mode::Auto, PagemapScanner::Mode::Entries}) {
        const PagemapScanner scanner(self, mode);
        if (!scanner.seesGuards()) {
            WARN("skipped: guard regions can't be seen in this way");
            continue;
        }
        CHECK(scanner.scan(base, page(4), kGuardPages) == std::vector{PageRange{page(1), page(2), PageIs::None}});
        CHECK(scanner.scan(base, page(4), kPrivatePages) ==
              std::vector{PageRange{base, page(1), PageIs::None}, PageRange{page(2), page(4), PageIs::None}});
    }
}

TEST_CASE("runs are split where reported categories differ") {
    if (!mapsZeroPage()) {
        WARN("skipped: this kernel doesn't map the zero page");
        return;
    }
    const Mapping area = Mapping::anonymous(3 * machinePageSize());
    REQUIRE(::madvise(area.data(), area.size(), MADV_NOHUGEPAGE) == 0);
    auto* const memory = area.as<volatile char>();
    memory[0] = 1;
    static_cast<void>(memory[machinePageSize()]);
    memory[2 * machinePageSize()] = 1;
    const auto base = reinterpret_cast<std::uint64_t>(area.data());
    const ProcPid self = ProcDir().open(::getpid());
    for (const auto mode : {PagemapScanner::Mode::Auto, PagemapScanner::Mode::Entries}) {
        const PagemapScanner scanner(self, mode);
        if (!scanner.seesZeroPage()) {
            WARN("skipped: the page of zeroes can't be seen in this way");
            continue;
        }
        const PageQuery present{.all = PageIs::Present};
        CHECK(scanner.scan(base, base + area.size(), present).size() == 1);
        const PageQuery zeroOrNot{.all = PageIs::Present, .report = PageIs::PfnZero};
        const auto found = scanner.scan(base, base + area.size(), zeroOrNot);
        REQUIRE(found.size() == 3);
        CHECK(found[0].categories == PageIs::None);
        CHECK(found[1].categories == PageIs::PfnZero);
    }
}

TEST_CASE("terabytes of untouched space are scanned at once") {
    const std::size_t size = std::size_t{8} << 40;
    void* const start = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(start != MAP_FAILED);
    const Mapping area(start, size);
    char* const page = area.as<char>() + size / 2;
    REQUIRE(::mprotect(page, machinePageSize(), PROT_READ | PROT_WRITE) == 0);
    *page = 1;
    const PagemapScanner scanner(ProcDir().open(::getpid()));
    if (scanner.mode() != PagemapScanner::Mode::Scan) {
        WARN("skipped: this kernel hasn't got PAGEMAP_SCAN (6.7)");
        return;
    }
    const auto base = reinterpret_cast<std::uint64_t>(start);
    const auto begin = std::chrono::steady_clock::now();
    const auto found = scanner.scan(base, base + size, kPrivatePages);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(1));
    REQUIRE(found.size() == 1);
    CHECK(found[0].start == reinterpret_cast<std::uint64_t>(page));
}

TEST_CASE("several threads find the same pages as one, runs across their parts included") {
    constexpr std::size_t mebibyte = std::size_t{1} << 20;
    const Mapping area = Mapping::anonymous(1600 * mebibyte);
    REQUIRE(::madvise(area.data(), area.size(), MADV_NOHUGEPAGE) == 0);
    auto* const memory = area.as<volatile char>();
    const auto touch = [&](std::size_t from, std::size_t to, std::size_t step) {
        for (std::size_t at = from; at < to; at += step)
            memory[at] = 1;
    };
    touch(0, machinePageSize(), machinePageSize());
    for (std::size_t part = 256 * mebibyte; part < area.size(); part += 256 * mebibyte)
        touch(part - mebibyte, part + mebibyte, machinePageSize());
    touch(300 * mebibyte, 310 * mebibyte, 3 * machinePageSize());
    touch(area.size() - machinePageSize(), area.size(), machinePageSize());
    const auto base = reinterpret_cast<std::uint64_t>(area.data());
    const PagemapScanner scanner(ProcDir().open(::getpid()));
    const auto expected = scanner.scan(base, base + area.size(), kPrivatePages);
    REQUIRE(expected.size() > 800);
    std::vector<PageRange> found;
    const auto note = [&found](const PageRange& range) { found.push_back(range); };
    scanner.scanAtOnce(base, base + area.size(), kPrivatePages, note);
    CHECK(found == expected);
    found.clear();
    scanner.scanAtOnce(base + machinePageSize(), base + 513 * mebibyte, kPrivatePages, note);
    CHECK(found == scanner.scan(base + machinePageSize(), base + 513 * mebibyte, kPrivatePages));
    found.clear();
    scanner.scanAtOnce(base, base, kPrivatePages, note);
    CHECK(found.empty());
    CHECK_THROWS(scanner.scanAtOnce(base, base + area.size() - 1, kPrivatePages, note));
}

TEST_CASE("of anonymous memory the same pages are found without asking for pages of files") {
    constexpr std::size_t pages = 4096;
    const Mapping area = Mapping::anonymous(pages * machinePageSize());
    auto* const memory = area.as<volatile char>();
    // Kernels that use huge pages always would fill the gaps between the pages that this test writes.
    REQUIRE(::madvise(area.data(), pages / 2 * machinePageSize(), MADV_NOHUGEPAGE) == 0);
    for (std::size_t page = 0; page < pages / 4; page += 3)
        memory[page * machinePageSize()] = 1;
    for (std::size_t page = pages / 4; page < pages / 2; ++page)
        static_cast<void>(memory[page * machinePageSize()]);  // maps the zero page
    void* const huge = area.as<char>() + pages / 2 * machinePageSize();
    ::madvise(huge, pages / 2 * machinePageSize(), MADV_HUGEPAGE);
    for (std::size_t page = pages / 2; page < pages; ++page)
        memory[page * machinePageSize()] = 1;
    ::madvise(area.data(), machinePageSize(), MADV_PAGEOUT);
    const auto base = reinterpret_cast<std::uint64_t>(area.data());
    for (const auto mode : {PagemapScanner::Mode::Auto, PagemapScanner::Mode::Entries}) {
        const PagemapScanner scanner(ProcDir().open(::getpid()), mode);
        PageQuery query = kPrivatePages;
        query.none = query.none | PageIs::PfnZero;
        const auto expected = scanner.scan(base, base + area.size(), query);
        CHECK(expected.size() >= pages / 12);
        CHECK(scanner.scan(base, base + area.size(), kAnonymousPages) == expected);
    }
}

TEST_CASE("memory of a child is read and written in ranges; a hole stops the transfer where it is") {
    const std::size_t pages = 2000;  // more ranges than fit into one call
    const Mapping area = Mapping::anonymous((pages + 1) * machinePageSize());
    for (std::size_t page = 0; page < pages; ++page)
        std::memcpy(area.as<char>() + page * machinePageSize(), &page, sizeof(page));
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::munmap(area.as<char>() + 1500 * machinePageSize(), machinePageSize());
        ::raise(SIGSTOP);
        ::_exit(0);
    }
    int state = 0;
    REQUIRE(::waitpid(child, &state, WUNTRACED) == child);
    std::vector<RemoteRange> ranges;
    for (std::size_t page = 0; page < pages; ++page)
        ranges.push_back({reinterpret_cast<std::uint64_t>(area.data()) + page * machinePageSize(), sizeof(page)});
    std::vector<std::size_t> values(pages);
    const VmTransfer done = readMemorySome(child, ranges, std::as_writable_bytes(std::span(values)));
    CHECK(done.code == EFAULT);
    CHECK(done.bytes == 1500 * sizeof(std::size_t));
    CHECK(values[1499] == 1499);
    const auto text = [&] {
        try {
            readMemory(child, ranges, std::as_writable_bytes(std::span(values)));
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    }();
    CHECK(text.find(fmt::format("at {:x}: Bad address", ranges[1500].start)) != std::string::npos);
    ranges.erase(ranges.begin() + 1500);
    values.pop_back();
    for (std::size_t& value : values)
        value = 42;
    writeMemory(child, ranges, std::as_bytes(std::span(values)));
    std::vector<std::size_t> back(values.size());
    readMemory(child, ranges, std::as_writable_bytes(std::span(back)));
    CHECK(back == values);
    ::kill(child, SIGKILL);
    ::waitpid(child, &state, 0);
}
