// SPDX-License-Identifier: GPL-2.0-only
// Private memory: images must contain each page as the process reads it.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "../unit/image_fixture.hpp"
#include "child.hpp"
#include "criu/base/machine.hpp"
#include "criu/image/pagemap.hpp"
#include "criu/kernel/mm/pagemap.hpp"
#include "images/mm.hpp"
#include "test/unit/kernel/zero_page.hpp"

using namespace criu;
using namespace criu::memory;
using test::MemoryDump;
using test::pages;
using test::place;
using test::StoppedChild;

namespace {

constexpr int kGuardInstall = 102;
constexpr int kDroppable = 0x08;

char* mapAt(std::uint64_t at, std::size_t size, int prot, int flags, int fd = -1, off_t offset = 0) {
    void* const got = ::mmap(reinterpret_cast<void*>(at), size, prot, flags | MAP_FIXED_NOREPLACE, fd, offset);
    if (got == MAP_FAILED)
        failErrno("map {:#x}", at);
    return static_cast<char*>(got);
}

char* mapPrivate(std::uint64_t at, std::size_t size, int extra = 0) {
    return mapAt(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | extra);
}

const VmaEntry* entryAt(const DumpedMemory& memory, std::uint64_t start) {
    for (const DumpedVma& vma : memory.vmas)
        if (vma.entry->start == start)
            return vma.entry;
    return nullptr;
}

/// Compares all private memory of a process with its images. Pages that aren't in the images must be zero, or equal the
/// file.
void compareAll(const StoppedChild& child, const MemoryDump& dump, const ImageDir& images) {
    const auto pagemap = Pagemap::load(images, ImageKind::Pagemap, static_cast<std::uint64_t>(child.pid()));
    REQUIRE(pagemap);
    const std::vector<UniqueFd> files = pagemap->openPages(images, O_RDONLY | O_CLOEXEC);
    REQUIRE(files.size() == 1);
    const UniqueFd& file = files.front();
    CHECK(pagemap->contentSize() == dump.result.pagesWritten * kImagePageSize);
    CHECK(static_cast<std::uint64_t>(::lseek(file.get(), 0, SEEK_END)) == pagemap->contentSize());

    std::uint64_t covered = 0;
    for (const DumpedVma& vma : dump.memory.vmas) {
        const VmaEntry& entry = *vma.entry;
        if (!hasPrivatePages(entry) || (entry.flags & kDroppable) != 0)
            continue;
        UniqueFd mapped;
        if (is(entry, VmaStatus::FilePrivate))
            mapped = ProcMappedFiles::open(dump.process, *vma.source, O_RDONLY);
        std::string wrong;
        std::string inFile(machinePageSize(), '\0');
        for (std::uint64_t at = entry.start; at < entry.end; at += machinePageSize()) {
            const bool guarded = std::any_of(dump.memory.vmas.begin(), dump.memory.vmas.end(), [&](const auto& other) {
                return is(*other.entry, VmaStatus::Guard) && other.entry->start <= at && at < other.entry->end;
            });
            const PagemapRange* const range = pagemap->find(at);
            if (guarded) {
                if (range != nullptr)
                    wrong += fmt::format(" guard page in the images at {:x}", at);
                continue;
            }
            std::string wanted(machinePageSize(), '\0');
            if (range != nullptr) {
                covered += machinePageSize();
                sys(::pread(file.get(), wanted.data(), machinePageSize(),
                            static_cast<off_t>(range->contentOffset + (at - range->vaddr))),
                    "read");
                if (!has(range->flags, PageFlags::Present))
                    wrong += fmt::format(" not present at {:x}", at);
            } else if (mapped) {
                const auto offset = static_cast<off_t>(entry.pgoff + (at - entry.start));
                inFile.assign(machinePageSize(), '\0');
                if (sys(::pread(mapped.get(), inFile.data(), machinePageSize(), offset), "read the mapped file") == 0)
                    continue;  // beyond the file's end, where nothing can be read
                wanted = inFile;
            }
            if (child.memory(at, at + machinePageSize()) != wanted)
                wrong += fmt::format(" {:x}", at);
        }
        INFO(fmt::format("{:x}-{:x}", entry.start, entry.end));
        CHECK(wrong.empty());
        CHECK(wrong == "");
    }
    CHECK(covered == pagemap->contentSize());
}

struct Scene {
    explicit Scene(const std::function<void()>& prepare)
        : child(prepare), images(dir.images()), dump(child.pid(), images, drainer) {}
    [[nodiscard]] Pagemap pagemap() const {
        return *Pagemap::load(images, ImageKind::Pagemap, static_cast<std::uint64_t>(child.pid()));
    }
    test::TemporaryDir dir;
    StoppedChild child;
    ImageDir images;
    Drainer drainer;
    MemoryDump dump;
};

/// Returns all ranges of a pagemap, with adjacent ones joined.
std::vector<PagemapRange> joined(const Pagemap& pagemap) {
    std::vector<PagemapRange> out;
    for (const PagemapRange& range : pagemap.ranges()) {
        if (!out.empty() && out.back().end() == range.vaddr && out.back().flags == range.flags)
            out.back().pages += range.pages;
        else
            out.push_back(range);
    }
    return out;
}

}  // namespace

TEST_CASE("every kind of private memory") {
    const Scene scene([] {
        char* at = mapPrivate(place(0), pages(16));
        std::memset(at, 1, pages(3));
        at[pages(8)] = 3;
        at = mapPrivate(place(1), pages(16));  // content that can't be read
        at[0] = 1;
        at[pages(15)] = 2;
        ::mprotect(at, pages(16), PROT_NONE);
        at = mapPrivate(place(2), pages(16));  // the zero page only
        for (std::size_t page = 0; page < 16; ++page)
            static_cast<void>(*static_cast<volatile char*>(at + pages(page)));
        at = mapPrivate(place(3), pages(16), MAP_GROWSDOWN);
        at[pages(15)] = 1;
        at = mapPrivate(place(4), pages(16), MAP_LOCKED);
        at[pages(2)] = 1;

        const UniqueFd file(sys(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC), "open"));
        at = mapAt(place(5), pages(16), PROT_READ | PROT_WRITE, MAP_PRIVATE, file.get());
        at[pages(3)] = 'x';
        mapAt(place(6), pages(4), PROT_READ, MAP_PRIVATE, file.get(), static_cast<off_t>(pages(2)));
        const UniqueFd memfd(sys(::memfd_create("m", MFD_CLOEXEC), "memfd"));
        sys(::ftruncate(memfd.get(), static_cast<off_t>(pages(16))), "size");
        sys(::pwrite(memfd.get(), "abc", 3, static_cast<off_t>(pages(7))), "write");
        at = mapAt(place(7), pages(16), PROT_READ | PROT_WRITE, MAP_PRIVATE, memfd.get());
        at[pages(1)] = 'y';
        const UniqueFd zero(sys(::open("/dev/zero", O_RDWR | O_CLOEXEC), "open"));
        at = mapAt(place(8), pages(4), PROT_READ | PROT_WRITE, MAP_PRIVATE, zero.get());
        at[pages(2)] = 'z';
        // Neighbours that the kernel doesn't merge, with pages on both sides of the borders.
        at = mapPrivate(place(9), pages(9));
        std::memset(at, 7, pages(9));
        ::mprotect(at + pages(3), pages(3), PROT_READ);
    });
    compareAll(scene.child, scene.dump, scene.images);
    const Pagemap pagemap = scene.pagemap();
    const auto flagsAt = [&](std::uint64_t at) {
        const PagemapRange* const range = pagemap.find(at);
        return range == nullptr ? PageFlags::None : range->flags;
    };
    const PageFlags lazy = PageFlags::Present | PageFlags::Lazy;
    CHECK(flagsAt(place(0)) == lazy);
    CHECK(flagsAt(place(0) + pages(3)) == PageFlags::None);
    CHECK(flagsAt(place(1)) == lazy);
    CHECK(flagsAt(place(2)) == (kernel::mapsZeroPage() ? PageFlags::None : lazy));
    CHECK(flagsAt(place(3) + pages(15)) == lazy);
    CHECK(flagsAt(place(4)) == PageFlags::Present);
    CHECK(flagsAt(place(5)) == PageFlags::None);
    CHECK(flagsAt(place(5) + pages(3)) == PageFlags::Present);
    CHECK(flagsAt(place(7) + pages(7)) == PageFlags::None);
    CHECK(flagsAt(place(7) + pages(1)) == PageFlags::Present);
    CHECK(flagsAt(place(8) + pages(2)) == PageFlags::Present);
    const PagemapRange* const joined = pagemap.find(place(9));
    REQUIRE(joined != nullptr);
    CHECK(joined->pages == 9);
    CHECK(entryAt(scene.dump.memory, place(9) + pages(3)) != nullptr);
    for (const DumpedVma& vma : scene.dump.memory.vmas)
        if (is(*vma.entry, VmaStatus::Vdso)) {
            // The range also has the pages of adjacent mappings.
            const PagemapRange* const range = pagemap.find(vma.entry->start);
            REQUIRE(range != nullptr);
            CHECK(range->end() >= vma.entry->end);
        }
}

TEST_CASE("memory large enough for threads") {
    constexpr std::size_t kSize = std::size_t{40} << 20;
    const Scene scene([] {
        char* const at = mapPrivate(place(0), kSize);
        for (std::size_t byte = 0; byte < kSize; byte += 64)
            if (byte / machinePageSize() % 7 != 0)
                std::memcpy(at + byte, &byte, sizeof(byte));
        std::memset(at + kSize / 2, 0, std::size_t{4} << 20);  // present, but zero
    });
    compareAll(scene.child, scene.dump, scene.images);
    CHECK(scene.dump.result.pagesWritten > 8000);
    CHECK(scene.drainer.zeroBytes() >= std::size_t{4} << 20);
}

TEST_CASE("ten thousand mappings") {
    const Scene scene([] {
        char* const at = mapPrivate(place(0), pages(20000));
        ::madvise(at, pages(20000), MADV_NOHUGEPAGE);
        for (std::size_t page = 0; page < 20000; page += 2) {
            at[pages(page)] = static_cast<char>(page);
            ::mprotect(at + pages(page), machinePageSize(), PROT_READ);
        }
    });
    CHECK(scene.dump.memory.vmas.size() > 20000);
    const Pagemap pagemap = scene.pagemap();
    std::size_t found = 0;
    for (std::size_t page = 0; page < 20000; ++page)
        found += pagemap.find(place(0) + pages(page)) != nullptr ? 1 : 0;
    CHECK(found == 10000);
    CHECK(pagemap.find(place(0) + pages(1)) == nullptr);
}

TEST_CASE("pages that relatives share copy-on-write stay shared") {
    constexpr std::size_t kPages = 64;
    const Mapping shared = Mapping::anonymous(machinePageSize(), MAP_SHARED);
    auto* const relative = shared.as<pid_t>();
    const StoppedChild child([relative] {
        char* const at = mapPrivate(place(0), pages(kPages));
        ::madvise(at, pages(kPages), MADV_NOHUGEPAGE);
        std::memset(at, 1, pages(kPages));
        const pid_t made = sys(::fork(), "create a process");
        if (made == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                ::pause();
        }
        *relative = made;
        at[0] = 2;
    });
    const auto frames = [](pid_t pid) {
        const UniqueFd pagemap = kernel::ProcDir().open(pid).open("pagemap", O_RDONLY);
        std::vector<std::uint64_t> entries(kPages);
        const auto offset = static_cast<off_t>(place(0) / machinePageSize() * sizeof(entries[0]));
        sys(::pread(pagemap.get(), entries.data(), kPages * sizeof(entries[0]), offset), "read");
        for (std::uint64_t& entry : entries)
            entry &= (std::uint64_t{1} << 55) - 1;
        return entries;
    };
    const auto before = frames(child.pid());
    REQUIRE(before[1] == frames(*relative)[1]);
    const test::TemporaryDir dir;
    const ImageDir images = dir.images();
    Drainer drainer;
    const MemoryDump dump(child.pid(), images, drainer);
    compareAll(child, dump, images);
    CHECK(frames(child.pid()) == before);
    const MemoryDump other(*relative, images, drainer);
    CHECK(frames(*relative)[1] == before[1]);
    CHECK(frames(*relative)[0] != before[0]);
}

TEST_CASE("kernels without PAGEMAP_SCAN give the same") {
    const StoppedChild child([] {
        std::memset(mapPrivate(place(0), pages(16)), 1, pages(3));
        mapPrivate(place(1), pages(1000));
        char* const reserved = mapPrivate(place(0x1000), std::size_t{1} << 40, MAP_NORESERVE);
        ::mprotect(reserved + pages(16), pages(16), PROT_READ);
        reserved[0] = 1;
        for (std::size_t page = 0; page < 1000; page += 3)
            mapPrivate(place(3) + pages(page), machinePageSize())[5] = 'x';
        static_cast<void>(*static_cast<volatile char*>(mapPrivate(place(5), pages(16))));
    });
    // The scan skips the untouched part of the terabyte.
    std::vector<std::vector<PagemapRange>> results;
    for (const auto mode : {kernel::PagemapScanner::Mode::Auto, kernel::PagemapScanner::Mode::Entries}) {
        const test::TemporaryDir dir;
        const ImageDir images = dir.images();
        Drainer drainer;
        MemoryDump dump(child.pid(), images, drainer, mode);
        results.push_back(joined(*Pagemap::load(images, ImageKind::Pagemap, static_cast<std::uint64_t>(child.pid()))));
        // Ignores the heap: if this process writes to a shared page between the dumps, the child's page becomes lazy.
        const std::uint64_t end = place(0x1000) + (std::uint64_t{1} << 40);
        std::erase_if(results.back(),
                      [&](const PagemapRange& range) { return range.vaddr < place(0) || range.vaddr >= end; });
        REQUIRE(results.back().size() > 300);
    }
    CHECK(results[0] == results[1]);
}

TEST_CASE("guard regions, behind all mappings") {
    const kernel::PagemapScanner scanner(kernel::ProcDir().self());
    if (!scanner.seesGuards()) {
        WARN("skipped: this kernel doesn't tell of guard regions");
        return;
    }
    const Scene scene([] {
        char* const at = mapPrivate(place(0), pages(16));
        std::memset(at, 1, pages(8));
        sys(::madvise(at + pages(4), pages(2), kGuardInstall), "guard");
        sys(::madvise(at + pages(12), pages(1), kGuardInstall), "guard");
        const UniqueFd file(sys(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC), "open"));
        char* const mapped = mapAt(place(1), pages(8), PROT_READ, MAP_PRIVATE, file.get());
        sys(::madvise(mapped + pages(2), pages(1), kGuardInstall), "guard");
    });
    compareAll(scene.child, scene.dump, scene.images);
    const auto& vmas = scene.dump.memory.vmas;
    REQUIRE(vmas.size() > 3);
    const auto guard = [&](std::size_t fromEnd) -> const VmaEntry& { return *vmas[vmas.size() - fromEnd].entry; };
    CHECK(guard(3).start == place(0) + pages(4));
    CHECK(guard(3).end == place(0) + pages(6));
    CHECK(guard(2).start == place(0) + pages(12));
    CHECK(guard(1).start == place(1) + pages(2));
    for (std::size_t fromEnd = 1; fromEnd <= 3; ++fromEnd) {
        CHECK(guard(fromEnd).status == bit(VmaStatus::Guard));
        CHECK(guard(fromEnd).flags == 0);
        CHECK(guard(fromEnd).fd == -1);
    }
    CHECK(!is(guard(4), VmaStatus::Guard));
    MmEntry mm = MM_ENTRY__INIT;
    Arena arena;
    scene.dump.memory.fill(mm, arena);
    CHECK(mm.n_vmas == vmas.size());
    CHECK(mm.vmas[mm.n_vmas - 1] == &guard(1));
}

TEST_CASE("droppable memory has no content") {
    void* const probe = ::mmap(nullptr, machinePageSize(), PROT_READ | PROT_WRITE, kDroppable | MAP_ANONYMOUS, -1, 0);
    if (probe == MAP_FAILED) {
        WARN("skipped: this kernel hasn't got MAP_DROPPABLE");
        return;
    }
    ::munmap(probe, machinePageSize());
    const Scene scene([] {
        char* const at = mapAt(place(0), pages(4), PROT_READ | PROT_WRITE, kDroppable | MAP_ANONYMOUS);
        at[0] = 1;
    });
    REQUIRE(entryAt(scene.dump.memory, place(0)) != nullptr);
    CHECK(entryAt(scene.dump.memory, place(0))->flags == (kDroppable | MAP_ANONYMOUS | MAP_NORESERVE));
    CHECK(scene.pagemap().find(place(0)) == nullptr);
    compareAll(scene.child, scene.dump, scene.images);
}

TEST_CASE("private huge pages") {
    constexpr std::size_t kHuge = std::size_t{2} << 20;
    void* const probe =
        ::mmap(nullptr, 2 * kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (probe == MAP_FAILED) {
        WARN("skipped: no huge pages are set aside (/proc/sys/vm/nr_hugepages)");
        return;
    }
    ::munmap(probe, 2 * kHuge);
    const Scene scene([] {
        char* const at = mapPrivate(place(0), 2 * kHuge, MAP_HUGETLB);
        at[kHuge + 5000] = 1;
    });
    const Pagemap pagemap = scene.pagemap();
    CHECK(pagemap.find(place(0)) == nullptr);
    const PagemapRange* const range = pagemap.find(place(0) + kHuge);
    REQUIRE(range != nullptr);
    CHECK(range->flags == PageFlags::Present);
    CHECK(range->pages == kHuge / kImagePageSize);
    compareAll(scene.child, scene.dump, scene.images);
}

TEST_CASE("a wish to stop ends a dump of pages") {
    const StoppedChild child([] { mapPrivate(place(0), pages(4))[0] = 1; });
    const test::TemporaryDir dir;
    const ImageDir images = dir.images();
    Drainer::Options options;
    options.stopWanted = [] { return true; };
    Drainer drainer(options);
    CHECK_THROWS_AS(MemoryDump(child.pid(), images, drainer), Error);
}

TEST_CASE("a full tmpfs is an error, whatever way it is written") {
    constexpr std::size_t kSize = std::size_t{40} << 20;
    const StoppedChild child([] { std::memset(mapPrivate(place(0), kSize), 1, kSize); });
    // The mount of a private mount namespace ends with its process.
    const pid_t pid = sys(::fork(), "create a child");
    if (pid == 0) {
        int status = 1;
        try {
            sys(::unshare(CLONE_NEWNS), "unshare");
            sys(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make mounts private");
            sys(::mount("none", "/mnt", "tmpfs", 0, "size=24m"), "mount");
            const ImageDir images = ImageDir::open("/mnt");
            Drainer drainer(Drainer::Options{.progress = {}, .block = {}, .stopWanted = {}, .threads = 4});
            MemoryDump dump(child.pid(), images, drainer);
        } catch (const Error& error) {
            status = error.code() == ENOSPC ? 0 : 2;
        }
        ::_exit(status);
    }
    int status = 0;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
}
