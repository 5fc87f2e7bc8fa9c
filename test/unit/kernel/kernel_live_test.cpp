// SPDX-License-Identifier: GPL-2.0-only
// Runs the /proc readers on the test program itself: real output of the kernel must parse, and agree with system calls.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <thread>

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/kernel/attributes.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/mm/pagemap.hpp"
#include "criu/kernel/mm/process_vm.hpp"
#include "criu/kernel/mm/userfaultfd.hpp"
#include "criu/kernel/proc/fdinfo.hpp"
#include "criu/kernel/proc/kcmp.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/kernel/proc/mountinfo.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/kernel/proc/tasks.hpp"
#include "criu/kernel/proc/timers.hpp"
#include "criu/kernel/sched.hpp"
#include "test/unit/kernel/zero_page.hpp"

using namespace criu;
using namespace criu::kernel;

TEST_CASE("own status and stat agree with system calls, odd names included") {
    char before[16];
    REQUIRE(::prctl(PR_GET_NAME, before) == 0);
    const char* const odd = "a) R\n\\n (b\\";
    REQUIRE(::prctl(PR_SET_NAME, odd) == 0);
    const ProcPid self = ProcDir().open(::getpid());
    ProcBuffer buffer;
    const TaskStatus status = readThreadStatus(self, ::gettid(), buffer);
    const TaskStat stat = readStat(self.thread(::gettid()), buffer);
    ::prctl(PR_SET_NAME, before);
    CHECK(status.name == odd);
    CHECK(stat.comm == odd);
    CHECK(status.pid == ::gettid());
    CHECK(status.ppid == ::getppid());
    CHECK(status.uid.effective == ::geteuid());
    CHECK(status.nsPid.back() == ::getpid());
    CHECK(stat.pgrp == ::getpgid(0));
    CHECK(stat.session == ::getsid(0));
    CHECK(stat.startCode != 0);
    CHECK(stat.argStart < stat.argEnd);
}

TEST_CASE("a /proc directory of an ended process reads as an error, not as another process") {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    const ProcPid proc = ProcDir().open(child);
    ProcBuffer buffer;
    CHECK(readStatus(proc, buffer).pid == child);
    const PidFd pidfd(child);
    CHECK_FALSE(pidfd.waitExit());
    CHECK(pidfd.sendSignal(SIGKILL));
    CHECK(pidfd.waitExit(std::chrono::seconds(10)));
    CHECK(readStatus(proc, buffer).state == TaskState::Zombie);
    CHECK(readMaps(proc).empty());
    const siginfo_t info = pidfd.wait(WEXITED);
    CHECK(info.si_pid == child);
    CHECK(info.si_status == SIGKILL);
    CHECK_FALSE(pidfd.sendSignal(SIGKILL));
    CHECK_THROWS_AS(readStatus(proc, buffer), Error);
}

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

TEST_CASE("kcmp orders files, and tells duplicates from files opened twice") {
    const UniqueFd one(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const UniqueFd other(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const UniqueFd twin(::dup(one.get()));
    const pid_t self = ::getpid();
    CHECK(kcmpFile(self, one.get(), self, twin.get()) == std::partial_ordering::equivalent);
    const auto order = kcmpFile(self, one.get(), self, other.get());
    CHECK((order == std::partial_ordering::less || order == std::partial_ordering::greater));
    CHECK(kcmpFile(self, other.get(), self, one.get()) ==
          (order < 0 ? std::partial_ordering::greater : std::partial_ordering::less));
    CHECK(kernel::kcmp(self, self, KcmpType::Vm) == std::partial_ordering::equivalent);
    CHECK_THROWS_AS(kcmpFile(self, 9999, self, one.get()), Error);
}

TEST_CASE("own fdinfo, limits, namespaces and small files parse") {
    const ProcPid self = ProcDir().open(::getpid());
    ProcBuffer buffer;
    const UniqueFd event(::eventfd(0x1234, EFD_CLOEXEC | EFD_SEMAPHORE));
    const FdInfo info = readFdInfo(self, event.get(), buffer);
    CHECK((info.flags & O_CLOEXEC) != 0);
    CHECK(parseEventFd(info.text).count == 0x1234);
    const ResourceLimits limits = readLimits(self, buffer);
    rlimit nofile{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &nofile) == 0);
    CHECK(limits[RLIMIT_NOFILE].rlim_cur == nofile.rlim_cur);
    const NamespaceIds ids = readNamespaceIds(self);
    struct stat net {};
    REQUIRE(::stat("/proc/self/ns/net", &net) == 0);
    CHECK(ids.of(NamespaceKind::Net) == net.st_ino);
    CHECK(ids == readNamespaceIds(ProcDir().self()));
    CachedNamespaceIds fixed;
    CHECK(fixed.of(self, NamespaceKind::Net) == ids.of(NamespaceKind::Net));
    CHECK(fixed.of(self, NamespaceKind::Net) == ids.of(NamespaceKind::Net));
    CHECK(fixed.all(self) == ids);
    const auto auxv = readAuxv(self);
    CHECK(auxv.size() > 10);
    CHECK(auxv[auxv.size() - 2] == 0);
    CHECK_FALSE(readCgroups(self, buffer).empty());
    CHECK(readTimers(self, buffer).empty());
    CHECK(readOomScoreAdj(self) >= -1000);
    CHECK_NOTHROW(readLoginUid(self));
    CHECK_NOTHROW(readCoredumpFilter(self));
    CHECK_NOTHROW(readAutogroup(self));
    const auto fds = readDescriptors(self);
    CHECK(std::find(fds.begin(), fds.end(), event.get()) != fds.end());
    CHECK_THROWS_AS(readFdInfo(self, 9999, buffer), Error);
}

TEST_CASE("POSIX timers are listed with what they were created with") {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR2;
    event.sigev_value.sival_ptr = reinterpret_cast<void*>(0x1234567890ULL);
    event._sigev_un._tid = ::gettid();
    timer_t timer{};
    REQUIRE(::timer_create(CLOCK_BOOTTIME, &event, &timer) == 0);
    ProcBuffer buffer;
    const auto timers = readTimers(ProcDir().open(::getpid()), buffer);
    ::timer_delete(timer);
    REQUIRE(timers.size() == 1);
    CHECK(timers[0].signal == SIGUSR2);
    CHECK(timers[0].value == 0x1234567890ULL);
    CHECK(timers[0].notify == SIGEV_THREAD_ID);
    CHECK(timers[0].target == ::gettid());
    CHECK(timers[0].clock == CLOCK_BOOTTIME);
}

TEST_CASE("threads and children are found") {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    ProcBuffer buffer;
    const ProcDir proc;
    const ProcPid self = proc.open(::getpid());
    CHECK(readChildren(self, ::gettid(), buffer) == std::vector<pid_t>{child});
    std::vector<pid_t> threads;
    std::thread([&] { threads = readThreads(self); }).join();
    CHECK(threads.size() >= 2);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

TEST_CASE("the child that clone(2) returned is found by what its parent calls it, and by its tracer") {
    // Results of fork(2) in the init of a pid namespace, which is a child of this test.
    struct Numbers {
        pid_t elsewhere = 0;  // has a tracer that isn't its parent
        pid_t first = 0;
        pid_t second = 0;
    };
    int channel[2];
    REQUIRE(::pipe2(channel, O_CLOEXEC) == 0);
    const UniqueFd in(channel[0]);
    UniqueFd out(channel[1]);
    const auto parent = static_cast<pid_t>(::syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, nullptr, nullptr, nullptr, 0));
    if (parent < 0) {
        WARN("skipped: no right to make a pid namespace");
        return;
    }
    if (parent == 0) {
        Numbers numbers;
        for (pid_t* const number : {&numbers.elsewhere, &numbers.first, &numbers.second}) {
            *number = ::fork();
            if (*number == 0) {
                ::pause();
                ::_exit(0);
            }
        }
        const ssize_t written = ::write(out.get(), &numbers, sizeof(numbers));
        ::pause();
        ::_exit(written == sizeof(numbers) ? 0 : 1);
    }
    out.reset();
    Numbers numbers;
    CHECK(::read(in.get(), &numbers, sizeof(numbers)) == sizeof(numbers));
    const ProcDir proc;
    const ProcPid process = proc.open(parent);
    ProcBuffer buffer;
    const std::vector<pid_t> children = readChildren(process, parent, buffer);
    CHECK(children.size() == 3);
    const auto find = [&](pid_t returned) { return findTracedChild(proc, process, parent, returned, buffer); };
    if (children.size() == 3) {
        CHECK(find(numbers.first) == children[1]);
        CHECK(find(numbers.second) == children[2]);
        CHECK(find(children[2]) == std::nullopt);  // a pid outside, and none in the namespace
        CHECK(find(numbers.elsewhere) == children[0]);
        CHECK(::ptrace(PTRACE_SEIZE, children[0], nullptr, nullptr) == 0);
        CHECK(find(numbers.elsewhere) == std::nullopt);
        ::kill(children[0], SIGKILL);
        ::waitpid(children[0], nullptr, __WALL);  // the namespace ends only when the tracer has reaped it
    }
    // Child of this process. Only its pid distinguishes it from children that this process has created since.
    const pid_t own = ::fork();
    if (own == 0) {
        ::pause();
        ::_exit(0);
    }
    const ProcPid self = proc.open(::getpid());
    CHECK(findTracedChild(proc, self, ::gettid(), own, buffer) == own);
    // The process is in a nested pid namespace, but has a pid here, too.
    CHECK(findTracedChild(proc, self, ::gettid(), parent, buffer) == parent);
    CHECK(findTracedChild(proc, self, ::gettid(), ::getpid(), buffer) == std::nullopt);
    for (const pid_t child : {parent, own}) {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    }
}

TEST_CASE("processors in a list are counted") {
    CHECK(kernel::countCpus("0\n") == 1);
    CHECK(kernel::countCpus("0-3,6,8-9\n") == 7);
    CHECK_THROWS_AS((void)kernel::countCpus("3-1\n"), Error);
    CHECK_THROWS_AS((void)kernel::countCpus(""), Error);
    CHECK(kernel::onlineCpus() == static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

TEST_CASE("processors in a list make a mask") {
    CHECK(kernel::cpuMask("0-3,65\n") == std::vector<std::uint64_t>{0xf, 2});
    CHECK(kernel::cpuMask("63\n") == std::vector{std::uint64_t{1} << 63});
    CHECK_THROWS_AS((void)kernel::cpuMask("70000000\n"), Error);
}

TEST_CASE("a thread is restricted to processors on which it may run") {
    const std::vector<std::uint64_t> own = kernel::cpuAffinity(0);
    const auto word = std::find_if(own.begin(), own.end(), [](std::uint64_t each) { return each != 0; });
    const auto first = (word - own.begin()) * 64 + std::countr_zero(*word);
    std::thread([&] {
        CHECK_FALSE(kernel::restrictThread("60000"));
        CHECK(kernel::cpuAffinity(0) == own);
        CHECK(kernel::restrictThread(fmt::format("{},60000\n", first)));
        const auto mask = kernel::cpuAffinity(0);
        CHECK(std::accumulate(mask.begin(), mask.end(), 0,
                              [](int sum, std::uint64_t each) { return sum + std::popcount(each); }) == 1);
    }).join();
    CHECK(kernel::cpuAffinity(0) == own);
}

TEST_CASE("own scheduling, affinity, robust list and limits agree with system calls") {
    const SchedAttributes attributes = schedAttributes(0);
    CHECK(attributes.policy == static_cast<std::uint32_t>(::sched_getscheduler(0)));
    errno = 0;
    CHECK(niceValue(0) == ::getpriority(PRIO_PROCESS, 0));
    cpu_set_t set;
    REQUIRE(::sched_getaffinity(0, sizeof(set), &set) == 0);
    const auto mask = cpuAffinity(0);
    for (std::size_t cpu = 0; cpu < std::min<std::size_t>(CPU_SETSIZE, mask.size() * 64); ++cpu)
        CHECK(((mask[cpu / 64] >> (cpu % 64)) & 1) == (CPU_ISSET(cpu, &set) ? 1 : 0));
    CHECK(robustList(0).head != 0);  // glibc registers one
    const ProcPid self = ProcDir().open(::getpid());
    ProcBuffer buffer;
    const ResourceLimits limits = readLimits(self, buffer);
    for (std::size_t resource = 0; resource < kRlimits; ++resource) {
        rlimit own{};
        REQUIRE(::getrlimit(static_cast<__rlimit_resource>(resource), &own) == 0);
        CHECK(limits[resource].rlim_cur == own.rlim_cur);
        CHECK(limits[resource].rlim_max == own.rlim_max);
    }
    CHECK_THROWS_AS(schedAttributes(-1), Error);
}

TEST_CASE("own mounts: the root is among them, and files are on mounts of the table") {
    const ProcPid self = ProcDir().open(::getpid());
    ProcBuffer buffer;
    const MountTable table = readMountInfo(self, buffer);
    const UniqueFd root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const FdInfo info = readFdInfo(self, root.get(), buffer);
    REQUIRE(info.mountId.has_value());
    const MountInfo* const mount = table.find(*info.mountId);
    REQUIRE(mount != nullptr);
    CHECK(mount->mountPoint == "/");
}
