// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/process.hpp>

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <sstream>
#include <thread>

#include "child.hpp"

using namespace compel;
using test::Child;

namespace {

struct Code {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
};

/// Returns the addresses of the vDSO. They are equal in this process and in all its forked children.
Code vdso() {
    std::istringstream maps(test::mapsOf(::getpid()));
    for (std::string line; std::getline(maps, line);) {
        Code code;
        if (line.ends_with("[vdso]") && std::sscanf(line.c_str(), "%lx-%lx", &code.start, &code.end) == 2)
            return code;
    }
    return {};
}

std::atomic<int> deliveries{0};
std::atomic<bool> over{false};

/// Reads clocks until `over` is true. Returns true if all values are plausible.
bool readClocks() {
    const time_t begin = ::time(nullptr);
    timespec last{};
    while (!over) {
        timespec now{};
        ::clock_gettime(CLOCK_MONOTONIC, &now);
        const bool forward = now.tv_sec > last.tv_sec || (now.tv_sec == last.tv_sec && now.tv_nsec >= last.tv_nsec);
        if (!forward || ::time(nullptr) < begin)
            return false;
        last = now;
    }
    return true;
}

/// Child with a thread that is in the vDSO most of the time. `blocked`: signal that the thread blocks.
int spin(const Child::Talk& talk, int blocked) {
    struct sigaction action {};
    action.sa_handler = [](int) { ++deliveries; };
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGRTMIN, &action, nullptr);
    std::atomic<bool> right{true};
    std::thread reader([&] {
        sigset_t set;
        ::sigemptyset(&set);
        ::sigaddset(&set, blocked);
        ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
        right = readClocks();
    });
    talk.say("ready");
    for (;;) {
        const auto word = talk.hear();
        if (word == "end")
            break;
        talk.say(std::to_string(deliveries.load()));
    }
    over = true;
    reader.join();
    return right ? 5 : 1;
}

bool isIn(const Code& code, const Tracee& tracee) {
    const std::uint64_t at = tracee.registers().ip();
    return code.start <= at && at < code.end;
}

}  // namespace

// The test needs a machine that makes a step faster than the kernel updates its clock. Emulated machines don't.
TEST_CASE("a thread runs on out of some code, and is stopped and masked as before", "[steps]") {
    const Code code = vdso();
    REQUIRE(code.end > code.start);
    Child child([](const Child::Talk& talk) { return spin(talk, SIGUSR2); });
    REQUIRE(child.hear() == "ready");
    int found = 0;
    // Counts the threads that stay in the vDSO. On a busy machine, steps take so long that the kernel updates the clock
    // during each attempt to read it. The vDSO then reads the clock again, until leaveCode() makes no more steps.
    int stayed = 0;
    // Counts the signals that the test sends, because the child must handle each of them exactly once.
    int sent = 0;
    for (int round = 0; round < 300; ++round) {
        auto process = FrozenProcess::freeze(child.pid());
        for (auto& thread : process.threads()) {
            Tracee& tracee = thread.tracee;
            const SignalMask mask = tracee.signalMask();
            const bool wasInside = isIn(code, tracee);
            found += wasInside ? 1 : 0;
            if (round % 3 == 0 && ::sigqueue(child.pid(), SIGRTMIN, sigval{.sival_int = round}) == 0)
                ++sent;
            const bool left = tracee.leaveCode(code.start, code.end);
            CHECK(left != isIn(code, tracee));
            CHECK((left || wasInside));
            stayed += left ? 0 : 1;
            CHECK(tracee.signalMask() == mask);
            CHECK(tracee.stopped()->kind == StopInfo::Kind::Interrupted);
        }
        process.detach();
    }
    CHECK(found > 0);
    CHECK(stayed <= found / 2);
    CHECK(test::eventually([&] {
        child.say("how many");
        return std::stoi(child.hear()) == sent;
    }));
    child.say("end");
    CHECK(child.exitCode() == 5);
}

TEST_CASE("a thread that is about to make a system call doesn't make it") {
    struct Words {
        volatile int waits;
        volatile int mayGo;
    };
    void* const memory = ::mmap(nullptr, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    auto* const words = static_cast<Words*>(memory);
    Child child([words](const Child::Talk&) {
        ::syscall(SYS_getpid);  // makes the linker resolve the function
        words->waits = 1;
        while (words->mayGo == 0)
            continue;
        ::syscall(SYS_ppoll, nullptr, 0, nullptr, nullptr, 0);  // never returns
        return 1;
    });
    REQUIRE(test::eventually([words] { return words->waits == 1; }));
    {
        FreezeOptions options;
        options.seize.longestWait = std::chrono::seconds(1);
        auto process = FrozenProcess::freeze(child.pid(), options);
        Tracee& tracee = process.leader();
        const SignalMask mask = tracee.signalMask();
        words->mayGo = 1;
        CHECK_FALSE(tracee.leaveCode(0, ~std::uint64_t{0}));
        REQUIRE(tracee.stopped());
        CHECK(tracee.stopped()->kind == StopInfo::Kind::Interrupted);
        CHECK_FALSE(tracee.registers().inSyscall());
        CHECK(tracee.signalMask() == mask);
        process.detach();
    }
    child.awaitState('S');
    ::munmap(memory, sizeof(Words));
}

TEST_CASE("a thread that blocks SIGTRAP stays where it is") {
    const Code code = vdso();
    Child child([](const Child::Talk& talk) { return spin(talk, SIGTRAP); });
    REQUIRE(child.hear() == "ready");
    int found = 0;
    for (int round = 0; round < 300; ++round) {
        auto process = FrozenProcess::freeze(child.pid());
        Tracee& reader = process.threads().back().tracee;
        const bool was = isIn(code, reader);
        const std::uint64_t at = reader.registers().ip();
        CHECK(reader.leaveCode(code.start, code.end) == !was);
        CHECK(reader.registers().ip() == at);
        found += was ? 1 : 0;
        process.detach();
    }
    CHECK(found > 0);
    child.say("end");
    CHECK(child.exitCode() == 5);
}
