// SPDX-License-Identifier: LGPL-2.1-only
// Kills a tracer of a thread with syscall user dispatch. The thread must have its setting again.
#if defined(__x86_64__)
#include <compel/injection.hpp>
#include <compel/process.hpp>
#include <compel/standby.hpp>
#include <compel/suspended_dispatch.hpp>

#include <catch2/catch.hpp>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "child.hpp"
#include "killed_tracer.hpp"
#include "traced_work.hpp"

using namespace compel;
using test::Child;

namespace {

constexpr int setDispatch = 59;  // PR_SET_SYSCALL_USER_DISPATCH

/// Selector byte of the child, and the end of its loop. The test and the child share both.
struct DispatchWords {
    std::atomic<char> selector;
    std::atomic<bool> ends;
};

struct CodeRange {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
};

/// Returns the mapping with the C library's system calls.
CodeRange libraryCode() {
    const auto inside = reinterpret_cast<std::uintptr_t>(&::syscall);
    std::istringstream maps(test::mapsOf(::getpid()));
    for (std::string line; std::getline(maps, line);) {
        CodeRange range;
        if (std::sscanf(line.c_str(), "%lx-%lx", &range.start, &range.end) == 2 && range.start <= inside &&
            inside < range.end)
            return range;
    }
    return {};
}

enum class Dispatch {
    Off,
    Outside,  ///< system calls outside of the C library raise SIGSYS
    Inside    ///< system calls in some addresses without code raise SIGSYS (PR_SYS_DISPATCH_INCLUSIVE_ON)
};

/// Child with syscall user dispatch.
int dispatchAndLoop(const Child::Talk& talk, DispatchWords& words, Dispatch kind) {
    const CodeRange code = kind == Dispatch::Inside ? CodeRange{0x1000, 0x3000} : libraryCode();
    if (kind != Dispatch::Off &&
        ::prctl(setDispatch, static_cast<int>(kind), code.start, code.end - code.start, &words.selector) != 0) {
        talk.say("can't");
        return 77;
    }
    talk.say("ready");
    words.selector = 1;  // SYSCALL_DISPATCH_FILTER_BLOCK
    while (!words.ends)
        __builtin_ia32_pause();
    return 0;
}

std::optional<UserDispatch> dispatchOf(pid_t pid) {
    auto process = FrozenProcess::freeze(pid);
    return process.leader().userDispatch();
}

bool isSame(const std::optional<UserDispatch>& one, const std::optional<UserDispatch>& other) {
    return one && other && one->start == other->start && one->size == other->size && one->selector == other->selector;
}

DispatchWords& newWords() {
    return *static_cast<DispatchWords*>(
        ::mmap(nullptr, sizeof(DispatchWords), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

}  // namespace

TEST_CASE("a thread whose tracer is killed anywhere has its syscall user dispatch again") {
    const auto kind = GENERATE(Dispatch::Outside, Dispatch::Inside);
    CAPTURE(kind);
    DispatchWords& words = newWords();
    Child child([&](const Child::Talk& talk) { return dispatchAndLoop(talk, words, kind); });
    if (child.hear() == "can't") {
        WARN("skipped: this kernel hasn't got syscall user dispatch, or not of kind " << static_cast<int>(kind));
        return;
    }
    REQUIRE(test::eventually([&] { return words.selector != 0; }));
    const auto before = dispatchOf(child.pid());
    if (!before) {
        WARN("skipped: this kernel doesn't show syscall user dispatch (6.4)");
        return;
    }
    for (unsigned number = 0; test::dieAt(number, [&] { test::workOn(child.pid()); }); ++number) {
        INFO("killed at stop " << number);
        REQUIRE(test::eventually([&] { return isSame(dispatchOf(child.pid()), before); }));
    }
    words.ends = true;
    CHECK(child.exitCode() == 0);
}

TEST_CASE("a thread in stand-by whose tracer is killed gets its syscall user dispatch") {
    DispatchWords& words = newWords();
    Child child([&](const Child::Talk& talk) { return dispatchAndLoop(talk, words, Dispatch::Off); });
    REQUIRE(child.hear() == "ready");
    REQUIRE(test::eventually([&] { return words.selector != 0; }));
    const CodeRange code = libraryCode();
    const UserDispatch wanted{reinterpret_cast<std::uintptr_t>(&words.selector), code.start, code.end - code.start};
    const bool leaves = GENERATE(false, true);
    try {
        auto process = FrozenProcess::freeze(child.pid());
        process.leader().setUserDispatch(wanted);
        process.leader().setUserDispatch(std::nullopt);
    } catch (const Error&) {
        WARN("skipped: this kernel can't set syscall user dispatch of another thread (6.4)");
        return;
    }
    test::dieAfter([&] {
        auto process = FrozenProcess::freeze(child.pid());
        Injection injection = test::injectForStandby(process);
        const RemoteAddress data = injection.data();
        injection.memory().writeValue(data, testblob::Argument{.task = testblob::Task::Await, .numbers = {1}});
        auto standby = Standby::place(process.leader(), data + injection.dataSize(), wanted).value();
        standby.enter(injection.code() + testblob::blob.entryOffset, data, data + injection.dataSize() / 2);
        if (leaves) {
            standby.leave();
            injection.cure();
        }
        ::_exit(0);
    });
    CHECK(test::eventually([&] { return isSame(dispatchOf(child.pid()), wanted); }));
    words.ends = true;
    CHECK(child.exitCode() == 0);
}

TEST_CASE("a thread leaves its stand-by also if the kernel refuses its syscall user dispatch") {
    DispatchWords& words = newWords();
    Child child([&](const Child::Talk& talk) { return dispatchAndLoop(talk, words, Dispatch::Off); });
    REQUIRE(child.hear() == "ready");
    REQUIRE(test::eventually([&] { return words.selector != 0; }));
    const CodeRange code = libraryCode();
    // The kernel refuses an empty range that isn't at 0, and a selector that isn't memory of the process.
    const UserDispatch refused =
        GENERATE_COPY(UserDispatch{0, 4096, 0}, UserDispatch{~std::uint64_t{0}, code.start, code.end - code.start});
    CAPTURE(refused.start);
    {
        auto process = FrozenProcess::freeze(child.pid());
        const RemoteAddress ip = process.leader().registers().ip();
        const SignalMask mask = process.leader().signalMask();
        Injection injection = test::injectForStandby(process);
        const RemoteAddress data = injection.data();
        auto standby = Standby::place(process.leader(), data + injection.dataSize(), refused).value();
        standby.enter(injection.entry(), data, data + injection.dataSize() / 2);
        CHECK_THROWS_AS(standby.leave(), Error);
        CHECK(process.leader().registers().ip() == ip);
        CHECK(process.leader().signalMask() == mask);
        injection.cure();
    }
    CHECK_FALSE(dispatchOf(child.pid()));
    words.ends = true;
    CHECK(child.exitCode() == 0);
}

TEST_CASE("a search for code that dispatch allows isn't repeated after a failure") {
    DispatchWords& words = newWords();
    Child child([&](const Child::Talk& talk) { return dispatchAndLoop(talk, words, Dispatch::Off); });
    REQUIRE(child.hear() == "ready");
    REQUIRE(test::eventually([&] { return words.selector != 0; }));
    const CodeRange code = libraryCode();
    const std::uint64_t size = code.end - code.start;
    {
        auto process = FrozenProcess::freeze(child.pid());
        Tracee& thread = process.leader();
        const auto search = [&](std::uint64_t from, std::uint64_t length) {
            const SuspendedDispatch found(thread, UserDispatch{0, from, length});
            return found.code().has_value();
        };
        CHECK_FALSE(search(0, 0));
        CHECK(thread.allowedCode().size == 0);
        CHECK_FALSE(search(4096, 4096));
        CHECK(thread.allowedCode().size == 4096);
        CHECK(thread.allowedCode().instruction == 0);
        // The library has code, so only the remembered failure can be the reason.
        thread.setAllowedCode({code.start, size});
        CHECK_FALSE(search(code.start, size));
        CHECK(search(code.start, size - 1));
        CHECK(thread.allowedCode().instruction != 0);
        Tracee moved = std::move(thread);
        CHECK(moved.allowedCode().instruction != 0);
        thread = std::move(moved);
        CHECK(thread.allowedCode().instruction != 0);
    }
    words.ends = true;
    CHECK(child.exitCode() == 0);
}

TEST_CASE("dispatch allows code on both sides of the addresses where it raises signals") {
    DispatchWords& words = newWords();
    Child child([&](const Child::Talk& talk) { return dispatchAndLoop(talk, words, Dispatch::Off); });
    REQUIRE(child.hear() == "ready");
    REQUIRE(test::eventually([&] { return words.selector != 0; }));
    const CodeRange code = libraryCode();
    {
        auto process = FrozenProcess::freeze(child.pid());
        // Each setting allows all but the addresses from `start` to `end`.
        const auto find = [&](std::uint64_t start, std::uint64_t end) {
            return SuspendedDispatch(process.leader(), UserDispatch{0, end, start - end}).code();
        };
        const auto above = find(4096, code.start);
        REQUIRE(above);
        CHECK(above->address >= code.start);
        CHECK(above->restorer >= code.start);
        process.leader().setAllowedCode({});
        const auto below = find(code.end, ~std::uint64_t{0});
        REQUIRE(below);
        CHECK(below->address < code.end);
        CHECK(below->restorer < code.end);
        CHECK_FALSE(find(4096, ~std::uint64_t{0}));
    }
    words.ends = true;
    CHECK(child.exitCode() == 0);
}
#endif
