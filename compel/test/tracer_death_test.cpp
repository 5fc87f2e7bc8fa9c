// SPDX-License-Identifier: LGPL-2.1-only
// Kills a tracer at each of its system calls in turn. The traced process must continue unchanged.
#include <compel/injection.hpp>
#include <compel/process.hpp>
#include <compel/standby.hpp>

#include <catch2/catch.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>

#include "child.hpp"
#include "killed_tracer.hpp"
#include "traced_work.hpp"

using namespace compel;
using test::Child;

namespace {

std::atomic<bool> ends{false};
std::atomic<int> wrong{0};
std::atomic<int> arrived{0};  ///< number of threads that have left the start code of the C library

/// Keeps a pattern in vector registers, which rt_sigreturn(2) clears if the signal frame doesn't contain them.
void keepVectors() {
    alignas(32) static unsigned char pattern[32];
    alignas(32) static unsigned char found[32];
    ++arrived;
    for (unsigned index = 0; index < sizeof(pattern); ++index)
        pattern[index] = static_cast<unsigned char>(index * 5 + 3);
#if defined(__aarch64__)
    asm volatile(
        "ldp q6, q14, [%0]\n"
        "1: ldrb w9, [%2]\n\t"
        "yield\n\t"
        "cbz w9, 1b\n\t"
        "stp q6, q14, [%1]\n\t" ::"r"(pattern),
        "r"(found), "r"(&ends)
        : "memory", "x9", "v6", "v14");
#else
    asm volatile(
        "vmovdqa (%0), %%ymm6\n"
        "vmovdqa (%0), %%ymm14\n"
        "1: cmpb $0, (%2)\n\t"
        "pause\n\t"
        "je 1b\n\t"
        "vpxor %%ymm6, %%ymm14, %%ymm14\n\t"
        "vpaddb (%0), %%ymm14, %%ymm6\n\t"
        "vmovdqa %%ymm6, (%1)\n\t"
        "vzeroupper\n\t" ::"r"(pattern),
        "r"(found), "r"(&ends)
        : "memory", "cc", "xmm6", "xmm14");
#endif
    if (std::memcmp(pattern, found, sizeof(found)) != 0)
        wrong |= 1;
}

/// Waits in a system call that the kernel continues by the restart block. rt_sigreturn(2) drops the restart block.
void waitWithLimit(int file) {
    pollfd ready{file, POLLIN, 0};
    constexpr int limit = 600'000;
    ++arrived;
    int count;
    do
        count = ::poll(&ready, 1, limit);
    while (count < 0 && errno == EINTR);
    if (count != 1)
        wrong |= 2;
}

/// Waits in a system call that the kernel restarts from its beginning.
void waitWithoutLimit(int file) {
    char byte = 0;
    ++arrived;
    if (::read(file, &byte, 1) != 1)
        wrong |= 4;
}

/// Child with threads that run keepVectors(), waitWithLimit() and waitWithoutLimit(), and with a leader that has an
/// alternate signal stack.
int liveOn(const Child::Talk& talk) {
    alignas(16) static std::array<char, 65536> other;
    stack_t stack{};
    stack.ss_sp = other.data();
    stack.ss_size = other.size();
    ::sigaltstack(&stack, nullptr);
    int limited[2];
    int unlimited[2];
    if (::pipe(limited) != 0 || ::pipe(unlimited) != 0)
        return 90;
    std::thread vectors(keepVectors);
    std::thread with(waitWithLimit, limited[0]);
    std::thread without(waitWithoutLimit, unlimited[0]);
    while (arrived < 3)
        std::this_thread::yield();
    talk.say("ready");
    // The test kills hundreds of tracers until then.
    talk.hear(std::chrono::hours(1));
    ends = true;
    if (::write(limited[1], "x", 1) != 1 || ::write(unlimited[1], "x", 1) != 1)
        return 91;
    vectors.join();
    with.join();
    without.join();
    stack_t now{};
    ::sigaltstack(nullptr, &now);
    if (now.ss_sp != stack.ss_sp || now.ss_size != stack.ss_size || now.ss_flags != 0)
        wrong |= 8;
    return wrong;
}

/// Returns true if the stand-by of a thread refuses a stack that ends where its signal frame ends.
bool refusesStackInFrame(pid_t pid) {
    auto process = FrozenProcess::freeze(pid);
    Injection injection = test::injectForStandby(process);
    const RemoteAddress end = injection.data() + 2 * signalFrameRoom();
    bool refused = false;
    try {
        Standby::place(process.leader(), end).value().enter(injection.code(), injection.data(), end);
    } catch (const Error& error) {
        refused = error.message().find("would grow into its signal frame") != std::string::npos;
    }
    injection.cure();
    process.detach();
    return refused;
}

void standByOnce(pid_t pid) {
    auto process = FrozenProcess::freeze(pid);
    Injection injection = test::injectForStandby(process);
    for (Standby& standby : test::standBy(process, injection, 1))
        standby.leave();
    injection.cure();
    process.detach();
}

#if defined(__x86_64__)
/// Counts in 32-bit code and never returns.
[[noreturn]] void countIn32Bit(const volatile std::uint32_t* counter) {
    static constexpr unsigned char code[] = {0xff, 0x03, 0xeb, 0xfc};  // incl (%ebx), jmp back
    void* const page =
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    std::memcpy(page, code, sizeof(code));
    asm volatile("movl $0x2b, %%eax\n\tmovl %%eax, %%ds\n\tpushq $0x23\n\tpushq %0\n\tlretq" ::"r"(page), "b"(counter)
                 : "memory", "rax");
    __builtin_unreachable();
}
#endif

}  // namespace

TEST_CASE("a process whose tracer is killed anywhere goes on") {
    Child child(liveOn);
    REQUIRE(child.hear() == "ready");
    test::dieEverywhere(child.pid(), [&] { test::workOn(child.pid()); });
    child.say("end");
    CHECK(child.exitCode() == 0);
}

TEST_CASE("so does one whose threads block all signals") {
    Child child([](const Child::Talk& talk) {
        sigset_t all;
        ::sigfillset(&all);
        ::sigprocmask(SIG_SETMASK, &all, nullptr);
        return liveOn(talk);
    });
    REQUIRE(child.hear() == "ready");
    test::dieEverywhere(child.pid(), [&] { test::workOn(child.pid()); });
    child.say("end");
    CHECK(child.exitCode() == 0);
}

TEST_CASE("a process in stand-by whose tracer is killed anywhere goes on") {
    Child child(liveOn);
    REQUIRE(child.hear() == "ready");
    test::dieEverywhere(child.pid(), [&] { standByOnce(child.pid()); });
    child.say("end");
    CHECK(child.exitCode() == 0);
}

TEST_CASE("a stand-by refuses a stack that would grow into its signal frame") {
    Child child(liveOn);
    REQUIRE(child.hear() == "ready");
    CHECK(refusesStackInFrame(child.pid()));
    child.say("end");
    CHECK(child.exitCode() == 0);
}

TEST_CASE("a later tracer of a thread in stand-by that is killed anywhere leaves the thread's frame") {
    Child child(liveOn);
    REQUIRE(child.hear() == "ready");
    const std::size_t threads = test::threadsOf(child.pid()).size();
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    test::dieAfter([&] {
        auto process = FrozenProcess::freeze(child.pid());
        Injection injection = test::injectForStandby(process);
        (void)test::standBy(process, injection, 0);
        const RemoteAddress data = injection.data();
        if (::write(ends[1], &data, sizeof(data)) != sizeof(data))
            ::_exit(1);
        ::_exit(0);
    });
    RemoteAddress at = 0;
    REQUIRE(::read(ends[0], &at, sizeof(at)) == sizeof(at));
    ::close(ends[0]);
    ::close(ends[1]);
    test::dieEverywhere(child.pid(), [&] { test::workOn(child.pid()); });
    for (std::size_t i = 0; i < threads; ++i, at += test::standbySlot())
        RemoteMemory(child.pid()).writeValue(at + offsetof(testblob::Argument, numbers), std::uint64_t{1});
    child.say("end");
    CHECK(child.exitCode() == 0);
}

TEST_CASE("so does one whose user's queue of signals is full") {
    Child child([](const Child::Talk& talk) {
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_SIGPENDING, &none);
        return liveOn(talk);
    });
    REQUIRE(child.hear() == "ready");
    test::dieEverywhere(child.pid(), [&] { test::workOn(child.pid()); });
    child.say("end");
    CHECK(child.exitCode() == 0);
}

TEST_CASE("so does one with blocked signals of faults, which stay pending") {
    Child child([](const Child::Talk& talk) {
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_SIGPENDING, &none);
        sigset_t faults;
        sigemptyset(&faults);
        sigaddset(&faults, SIGTRAP);
        sigaddset(&faults, SIGBUS);
        ::sigprocmask(SIG_BLOCK, &faults, nullptr);
        ::pthread_kill(::pthread_self(), SIGTRAP);  // the full queue has no room for the siginfo
        ::kill(::getpid(), SIGBUS);
        return liveOn(talk);
    });
    REQUIRE(child.hear() == "ready");
    test::dieEverywhere(child.pid(), [&] { test::workOn(child.pid()); });
    child.say("end");
    CHECK(child.exitCode() == 0);
}

#if defined(__x86_64__)
TEST_CASE("a thread in 32-bit code goes on when its tracer dies while a blob runs") {
    if (!test::runs32BitCode()) {
        WARN("this kernel doesn't run 32-bit code");
        return;
    }
    Child child([](const Child::Talk& talk) -> int {
        void* const place =
            ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
        talk.say(std::to_string(reinterpret_cast<std::uintptr_t>(place)));
        test::leaveRseq();
        countIn32Bit(static_cast<std::uint32_t*>(place));
    });
    const RemoteAddress counter = std::stoull(child.hear());
    const auto count = [&] { return RemoteMemory(child.pid()).readValue<std::uint32_t>(counter); };
    REQUIRE(test::eventually([&] { return count() > 0; }));
    test::dieAfter([&] {
        auto process = FrozenProcess::freeze(child.pid());
        Injection injection(process.leader(), testblob::blob, 65536, process.syscallInstruction());
        injection.memory().writeValue(injection.data(), testblob::Argument{});
        const BlobRun run = injection.start(process.leader(), injection.data(), injection.data() + 65536);
        ::_exit(0);
    });
    const std::uint32_t then = count();
    CHECK(test::eventually([&] { return count() != then; }));
    CHECK(test::stateOf(child.pid()) == 'R');
}
#endif

TEST_CASE("a process that handles every signal isn't told of a blob's end") {
    Child child([](const Child::Talk& talk) {
        struct sigaction action {};
        action.sa_handler = [](int) { wrong |= 16; };
        action.sa_flags = SA_RESTART | SA_ONSTACK;
        for (int signal = 1; signal < SIGRTMAX; ++signal)
            ::sigaction(signal, &action, nullptr);
        return liveOn(talk);
    });
    REQUIRE(child.hear() == "ready");
    test::workOn(child.pid());
    child.say("end");
    CHECK(child.exitCode() == 0);
}
