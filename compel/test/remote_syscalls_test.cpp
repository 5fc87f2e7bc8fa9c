// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>

#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "child.hpp"

using namespace compel;
using test::Child;

namespace {

#if defined(__x86_64__)
/// Unmaps all memory except the page of its code, removes all system call instructions from this page, then loops
/// forever.
[[noreturn]] void liveInOnePage() {
    // Code with the address of its page in rdi. It unmaps all memory below and above the page, overwrites its system
    // call instructions, and loops forever.
    static constexpr unsigned char code[] = {
        0x48, 0x89, 0xfb,                                            // mov %rdi,%rbx
        0x48, 0x89, 0xfe,                                            // mov %rdi,%rsi
        0x31, 0xff,                                                  // xor %edi,%edi
        0xb8, 0x0b, 0x00, 0x00, 0x00,                                // mov $SYS_munmap,%eax
        0x0f, 0x05,                                                  // syscall (offset 13)
        0x48, 0x8d, 0xbb, 0x00, 0x10, 0x00, 0x00,                    // lea 4096(%rbx),%rdi
        0x48, 0xbe, 0x00, 0xf0, 0xff, 0xff, 0xff, 0x7f, 0x00, 0x00,  // movabs $0x7ffffffff000,%rsi
        0x48, 0x29, 0xfe,                                            // sub %rdi,%rsi
        0xb8, 0x0b, 0x00, 0x00, 0x00,                                // mov $SYS_munmap,%eax
        0x0f, 0x05,                                                  // syscall (offset 40)
        0xc6, 0x43, 0x0e, 0x90,                                      // movb $0x90,14(%rbx)
        0xc6, 0x43, 0x29, 0x90,                                      // movb $0x90,41(%rbx)
        0xeb, 0xfe,                                                  // jmp .
    };
    void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(page, code, sizeof(code));
    asm volatile("jmp *%%rax" ::"a"(page), "D"(page) : "memory");
    __builtin_unreachable();
}

/// Loops forever in 32-bit code.
[[noreturn]] void liveIn32Bit() {
    static constexpr unsigned char code[] = {0xeb, 0xfe};  // jmp .
    void* const page =
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    std::memcpy(page, code, sizeof(code));
    asm volatile("pushq $0x23\n\tpushq %0\n\tlretq" ::"r"(page) : "memory");
    __builtin_unreachable();
}

#endif

}  // namespace

TEST_CASE("a stopped thread executes system calls and doesn't notice") {
    Child child([](const Child::Talk& talk) {
        talk.say("ready");
        return talk.hear() == "end" ? 7 : 1;
    });
    REQUIRE(child.hear() == "ready");
    child.awaitState('S');
    const auto maps = test::mapsOf(child.pid());
    {
        auto process = FrozenProcess::freeze(child.pid());
        REQUIRE(process.threads().size() == 1);
        CHECK_FALSE(process.threads().front().groupStopped());
        const auto before = process.leader().registers();
        const auto mask = process.leader().signalMask();
        {
            RemoteSyscalls remote(process.leader(), process.syscallInstruction());
            CHECK(remote.call(SYS_getpid) == child.pid());
            CHECK(remote.call(SYS_close, -1) == -EBADF);
            RemoteBuffer buffer(remote, 8192);
            process.memory().writeValue<long>(buffer.address(), 42);
            CHECK(process.memory().readValue<long>(buffer.address()) == 42);
            CHECK_THROWS_AS(remote.mmap(1, 0, 0, 0), Error);
        }
        const auto after = process.leader().registers();
        CHECK(std::memcmp(&before, &after, sizeof(before)) == 0);
        CHECK(process.leader().signalMask() == mask);
        process.detach();
    }
    CHECK(test::mapsOf(child.pid()) == maps);
    child.say("end");
    CHECK(child.exitCode() == 7);
}

#if defined(__x86_64__)
TEST_CASE("a search finds a known library, and notices other content under its name") {
    const auto sleep = [](const Child::Talk&) {
        for (;;)
            ::pause();
        return 0;
    };
    Child first(sleep);
    Child second(sleep);
    KnownLibraries known;
    const auto plain = findSyscallInstruction(first.pid());
    const auto found = findSyscallInstruction(first.pid(), {}, &known);
    REQUIRE(plain);
    REQUIRE(found);
    REQUIRE(plain->restorer != 0);
    REQUIRE(known.size() == 1);
    CHECK(found->address == plain->address);

    const auto fromKnown = findSyscallInstruction(second.pid(), {}, &known);
    REQUIRE(fromKnown);
    CHECK(fromKnown->address == plain->address);
    CHECK(known.size() == 1);

    KnownLibraries wrong = known;
    ++wrong.front().returning;
    const auto corrected = findSyscallInstruction(second.pid(), {}, &wrong);
    REQUIRE(corrected);
    CHECK(corrected->address == plain->address);
    CHECK(corrected->restorer == plain->restorer);
    CHECK(wrong.size() == 2);
}

TEST_CASE("a process without any system call instruction gets one for a while") {
    Child child([](const Child::Talk& talk) -> int {
        talk.say("ready");
        test::leaveRseq();
        liveInOnePage();
    });
    REQUIRE(child.hear() == "ready");
    const auto pages = [&] {
        const auto maps = test::mapsOf(child.pid());
        return std::count(maps.begin(), maps.end(), '\n') - (maps.find("[vsyscall]") != std::string::npos ? 1 : 0);
    };
    REQUIRE(test::eventually([&] { return pages() == 1; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    auto process = FrozenProcess::freeze(child.pid());
    CHECK_FALSE(process.syscallInstruction());
    const auto page = process.leader().registers().ip() & ~std::uint64_t{4095};
    const auto before = process.memory().readValue<std::array<std::byte, 4096>>(page);
    {
        RemoteSyscalls remote(process.leader());
        CHECK(remote.call(SYS_getpid) == child.pid());
        CHECK(process.memory().readValue<std::array<std::byte, 4096>>(page) != before);
    }
    CHECK(process.memory().readValue<std::array<std::byte, 4096>>(page) == before);
    process.detach();
    CHECK(test::stateOf(child.pid()) == 'R');
}
#endif

#if defined(__x86_64__)
TEST_CASE("a thread in 32-bit code executes 64-bit system calls and doesn't notice") {
    if (!test::runs32BitCode()) {
        WARN("this kernel doesn't run 32-bit code");
        return;
    }
    Child child([](const Child::Talk& talk) -> int {
        talk.say("ready");
        liveIn32Bit();
    });
    REQUIRE(child.hear() == "ready");
    REQUIRE(test::eventually([&] {
        auto process = FrozenProcess::freeze(child.pid());
        return !process.leader().registers().isNative();
    }));
    auto process = FrozenProcess::freeze(child.pid());
    const auto before = process.leader().registers();
    const auto maps = test::mapsOf(child.pid());
    {
        RemoteSyscalls remote(process.leader());
        CHECK(remote.call(SYS_getpid) == child.pid());
        RemoteBuffer buffer(remote, 8192);
        CHECK(buffer.address() + buffer.size() <= 0x100000000);
    }
    const auto after = process.leader().registers();
    CHECK(std::memcmp(&before, &after, sizeof(before)) == 0);
    CHECK(test::mapsOf(child.pid()) == maps);
}

TEST_CASE("segments of thread-local storage can be read and set") {
    Child child([](const Child::Talk& talk) { return talk.hear() == "end" ? 5 : 1; });
    auto process = FrozenProcess::freeze(child.pid());
    auto segments = process.leader().threadSegments();
    CHECK(segments[1].entry_number == firstThreadSegment + 1);
    CHECK(segments[1].seg_not_present == 1);
    segments[1].base_addr = 0x12345000;
    segments[1].limit = 0xfffff;
    segments[1].seg_32bit = 1;
    segments[1].limit_in_pages = 1;
    segments[1].seg_not_present = 0;
    segments[1].read_exec_only = 0;
    segments[1].useable = 1;
    process.leader().setThreadSegments(segments);
    const auto found = process.leader().threadSegments();
    CHECK(std::memcmp(&segments, &found, sizeof(found)) == 0);
    process.detach();
    child.say("end");
    CHECK(child.exitCode() == 5);
}
#endif

TEST_CASE("extended state can be read in full and set") {
    Child child([](const Child::Talk& talk) { return talk.hear() == "end" ? 5 : 1; });
    auto process = FrozenProcess::freeze(child.pid());
    auto state = process.leader().extendedState();
#if defined(__aarch64__)
    // The set of SVE registers is written last, so its z0 counts. It has the header of the set before the registers.
    const auto scalable = registerSetOf(state, ScalableSet);
    const auto sets =
        scalable.empty() ? registerSetOf(state, FloatingPointSet) : scalable.subspan(sizeof(ScalableHeader));
    REQUIRE(!sets.empty());
    const auto vector = static_cast<std::size_t>(sets.data() - state.data());
#else
    REQUIRE(state.size() >= 576);  // FXSAVE area and XSAVE header
    constexpr std::size_t vector = 160;
    constexpr std::size_t featuresInUse = 512;
    constexpr std::byte vectors{2};
    state[featuresInUse] |= vectors;
#endif
    state[vector] = std::byte{0x5a};
    process.leader().setExtendedState(state);
    CHECK(process.leader().extendedState()[vector] == std::byte{0x5a});
    CHECK_THROWS_AS(process.leader().setExtendedState(std::span(state).first(100)), Error);
    process.detach();
    child.say("end");
    CHECK(child.exitCode() == 5);
}

TEST_CASE("memory is read and written whatever its protection") {
    static void* hidden = nullptr;
    hidden = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::strcpy(static_cast<char*>(hidden), "hidden");
    ::mprotect(hidden, 8192, PROT_NONE);
    Child child([](const Child::Talk& talk) {
        talk.hear();
        ::mprotect(hidden, 8192, PROT_READ);
        return std::strcmp(static_cast<char*>(hidden), "changed") == 0 ? 5 : 1;
    });
    const auto address = reinterpret_cast<std::uintptr_t>(hidden);
    {
        auto process = FrozenProcess::freeze(child.pid());
        const auto& memory = process.memory();
        CHECK(memory.readString(address) == "hidden");
        CHECK_THROWS_WITH(memory.readString(address, 3), Catch::Contains("longer than"));
        memory.write(address, std::as_bytes(std::span("changed")));
        std::vector<std::byte> more(16384);
        CHECK(memory.readSome(address + 4096, more) >= 4096);
        CHECK_THROWS_WITH(memory.readValue<long>(16), Catch::Contains("at 0x10"));
        CHECK_THROWS_AS(memory.writeValue(16, 1L), Error);
    }
    child.say("end");
    CHECK(child.exitCode() == 5);
    ::munmap(hidden, 8192);
}

namespace {

/// Maps memory in a child that has called `limit`. Returns the text of the Error; empty without an error.
std::string mapIn(const std::function<bool()>& limit) {
    Child child([&](const Child::Talk& talk) {
        talk.say(limit() ? "ready" : "failed");
        return talk.hear() == "end" ? 7 : 1;
    });
    REQUIRE(child.hear() == "ready");
    child.awaitState('S');
    auto process = FrozenProcess::freeze(child.pid());
    std::string said;
    {
        RemoteSyscalls remote(process.leader(), process.syscallInstruction());
        try {
            const RemoteBuffer buffer(remote, 8192);
            process.memory().writeValue<long>(buffer.address(), 42);
            CHECK(process.memory().readValue<long>(buffer.address()) == 42);
        } catch (const Error& error) {
            said = error.what();
        }
    }
    process.detach();
    child.say("end");
    CHECK(child.exitCode() == 7);
    return said;
}

bool limitTo(__rlimit_resource resource, rlim_t value) {
    const rlimit limit{value, value};
    return ::setrlimit(resource, &limit) == 0;
}

bool mapAllThatIsAllowed() {
    constexpr std::size_t page = 4096;
    constexpr std::size_t most = 1U << 17;
    auto* const room = static_cast<std::byte*>(
        ::mmap(nullptr, 2 * most * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    for (std::size_t at = 1; room != MAP_FAILED && at < most; ++at)
        if (::mprotect(room + 2 * at * page, page, PROT_READ) != 0) {
            // mprotect(2) has failed, because it needs two more mappings. So the limit leaves room for one, which is
            // mapped here.
            (void)::mmap(nullptr, page, PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
            return true;
        }
    return false;
}

}  // namespace

TEST_CASE("memory is mapped where a process may have no more data of its own") {
    CHECK(mapIn([] { return limitTo(RLIMIT_DATA, 4096); }).empty());
}

TEST_CASE("who can't map memory in a process is told which limit that is") {
    using Catch::Contains;
    CHECK_THAT(mapIn([] { return limitTo(RLIMIT_AS, 4096); }), Contains("RLIMIT_AS") && Contains("--as="));
    CHECK_THAT(mapIn(mapAllThatIsAllowed), Contains("vm.max_map_count"));
    if (::geteuid() == 0)
        CHECK_THAT(mapIn([] {
                       // Gives up root's uid, because root may lock any amount of memory.
                       return ::mlockall(MCL_FUTURE) == 0 && limitTo(RLIMIT_MEMLOCK, 4096) && ::setuid(65534) == 0;
                   }),
                   Contains("RLIMIT_MEMLOCK"));
}
