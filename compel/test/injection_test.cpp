// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/error.hpp>
#include <compel/injection.hpp>
#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>

#include <catch2/catch.hpp>

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "child.hpp"
#include "compel/test/blob/test_blob.hpp"
#include "compel_test_blob.hpp"

using namespace compel;
using test::Child;
using testblob::Argument;
using testblob::Task;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t stackSize = 8192;

/// State of a thread, which must be equal before and after a blob's run.
struct State {
    std::vector<std::byte> registers;
    std::vector<std::byte> extended;
    SignalMask mask;
    std::string dispositions;
    bool operator==(const State&) const = default;
};

State stateOf(Tracee& tracee) {
    const auto registers = tracee.registers();
    const auto bytes = std::as_bytes(std::span(&registers, 1));
    return {.registers = {bytes.begin(), bytes.end()},
            .extended = tracee.extendedState(),
            .mask = tracee.signalMask(),
            .dispositions = test::statusOf(tracee.tid(), "SigIgn") + test::statusOf(tracee.tid(), "SigCgt") +
                            test::statusOf(tracee.tid(), "SigPnd") + test::statusOf(tracee.tid(), "ShdPnd")};
}

/// Keeps a pattern in all vector registers until the test ends the child. Returns 5 if the registers still contain the
/// pattern.
int guardVectors(const Child::Talk& talk) {
    static std::atomic<bool> end{false};
    alignas(32) static unsigned char pattern[32];
    alignas(32) static unsigned char found[32];
    for (unsigned index = 0; index < 32; ++index)
        pattern[index] = static_cast<unsigned char>(index * 7 + 1);
    std::thread waiter([&] {
        talk.hear();
        end = true;
    });
    talk.say("ready");
#if defined(__aarch64__)
    asm volatile(
        "ldp q7, q15, [%0]\n"
        "1: ldrb w9, [%2]\n\t"
        "yield\n\t"
        "cbz w9, 1b\n\t"
        "stp q7, q15, [%1]\n\t" ::"r"(pattern),
        "r"(found), "r"(&end)
        : "memory", "x9", "v7", "v15");
#else
    asm volatile(
        "vmovdqa (%0), %%ymm7\n"
        "vmovdqa (%0), %%ymm15\n"
        "1: cmpb $0, (%2)\n\t"
        "pause\n\t"
        "je 1b\n\t"
        "vpxor %%ymm7, %%ymm15, %%ymm15\n\t"
        "vpaddb (%0), %%ymm15, %%ymm7\n\t"
        "vmovdqa %%ymm7, (%1)\n\t"
        "vzeroupper\n\t" ::"r"(pattern),
        "r"(found), "r"(&end)
        : "memory", "cc", "xmm7", "xmm15");
#endif
    waiter.join();
    return std::memcmp(pattern, found, sizeof(found)) == 0 ? 5 : 1;
}

/// Waits for a fault's signal, and sends the address of the fault to the test.
int awaitFault(const Child::Talk& talk) {
    static std::atomic<std::uintptr_t> faulted{0};
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t* info, void*) {
        faulted = reinterpret_cast<std::uintptr_t>(info->si_addr);
    };
    sigaction(SIGSEGV, &action, nullptr);
    talk.say("ready");
    talk.hear();
    return faulted == 0x12340 ? 5 : 1;
}

}  // namespace

TEST_CASE("a blob runs in a thread, which doesn't notice") {
    const bool ignoreTrap = GENERATE(false, true);
    const bool refuseWritableCode = GENERATE(false, true);
    Child child([&](const Child::Talk& talk) {
        if (ignoreTrap)
            ::signal(SIGTRAP, SIG_IGN);
        if (refuseWritableCode) {
            constexpr int setMdwe = 65;
            if (::prctl(setMdwe, 1, 0, 0, 0) != 0) {
                talk.say("can't");
                return 77;
            }
        }
        return guardVectors(talk);
    });
    const std::string said = child.hear();
    if (said == "can't") {
        WARN("skipped: this kernel hasn't got PR_SET_MDWE (6.3)");
        return;
    }
    REQUIRE(said == "ready");
    auto process = FrozenProcess::freeze(child.pid());
    const auto maps = test::mapsOf(child.pid());
    std::vector<State> before;
    for (auto& thread : process.threads())
        before.push_back(stateOf(thread.tracee));
    {
        Injection injection(process.leader(), testblob::blob, 65536, process.syscallInstruction());
        const auto stack = injection.data() + injection.dataSize();
        for (auto& thread : process.threads()) {
            injection.memory().writeValue(injection.data(), Argument{.task = Task::Identify});
            const auto result = injection.run(thread.tracee, injection.data(), stack);
            CHECK(result == thread.tracee.tid());
            const auto argument = injection.memory().readValue<Argument>(injection.data());
            CHECK(argument.pid == child.pid());
            CHECK(argument.tid == thread.tracee.tid());
        }
        Argument sum{.task = Task::Sum};
        std::fill(std::begin(sum.numbers), std::end(sum.numbers), 3);
        injection.memory().writeValue(injection.data(), sum);
        CHECK(injection.run(process.leader(), injection.data(), stack) == 96);
        SECTION("cured") {
            injection.cure();
        }
        SECTION("destroyed") {}
    }
    for (std::size_t index = 0; index < before.size(); ++index)
        CHECK(stateOf(process.threads()[index].tracee) == before[index]);
    CHECK(test::mapsOf(child.pid()) == maps);
    process.detach();
    child.say("end");
    CHECK(child.exitCode() == 5);
}

TEST_CASE("a blob is mapped into several processes at the same time, and unmapped") {
    enum : std::size_t { Usual, Limited, Ended, EndsLater, Last };
    std::vector<std::unique_ptr<Child>> children;
    for (std::size_t i = 0; i < Last; ++i)
        children.push_back(std::make_unique<Child>([](const Child::Talk& talk) {
            talk.say("ready");
            talk.hear();
            return 5;
        }));
    std::vector<FrozenProcess> processes;
    std::vector<InjectionRequest> requests;
    for (const auto& child : children) {
        REQUIRE(child->hear() == "ready");
        processes.push_back(FrozenProcess::freeze(child->pid()));
    }
    for (auto& process : processes)
        requests.push_back({&process.leader(), 5000, process.syscallInstruction()});
    const rlimit none{0, RLIM_INFINITY};
    rlimit unlimited{};
    REQUIRE(::prlimit(children[Limited]->pid(), RLIMIT_AS, &none, &unlimited) == 0);
    REQUIRE(::kill(children[Ended]->pid(), SIGKILL) == 0);
    std::vector<State> before;
    std::vector<std::string> maps;
    for (const std::size_t i : {Usual, Limited}) {
        before.push_back(stateOf(processes[i].leader()));
        maps.push_back(test::mapsOf(children[i]->pid()));
    }

    const auto memory = mapBlobs(testblob::blob, requests);
    REQUIRE(memory.size() == Last);
    CHECK(memory[Usual]);
    CHECK_FALSE(memory[Limited]);
    CHECK_FALSE(memory[Ended]);
    REQUIRE(memory[EndsLater]);
    CHECK(test::mapsOf(children[Usual]->pid()) != maps[Usual]);
    CHECK(test::mapsOf(children[Limited]->pid()) == maps[Limited]);
    {
        Injection usual(processes[Usual].leader(), testblob::blob, *memory[Usual], requests[Usual].syscallInstruction);
        Injection later(processes[EndsLater].leader(), testblob::blob, *memory[EndsLater],
                        requests[EndsLater].syscallInstruction);
        CHECK_THROWS_AS(
            Injection(processes[Limited].leader(), testblob::blob, 5000, requests[Limited].syscallInstruction), Error);
        usual.memory().writeValue(usual.data(), Argument{.task = Task::Identify});
        CHECK(usual.run(processes[Usual].leader(), usual.data(), usual.data() + usual.dataSize()) ==
              children[Usual]->pid());
        REQUIRE(::kill(children[EndsLater]->pid(), SIGKILL) == 0);
        const std::array<Injection*, 2> all{&usual, &later};
        Injection::cureAll(all);
        CHECK(test::mapsOf(children[Usual]->pid()) == maps[Usual]);
        CHECK_NOTHROW(usual.cure());
        CHECK_THROWS_AS(later.cure(), Error);
    }
    REQUIRE(::prlimit(children[Limited]->pid(), RLIMIT_AS, &unlimited, nullptr) == 0);
    for (const std::size_t i : {Usual, Limited}) {
        CHECK(stateOf(processes[i].leader()) == before[i]);
        CHECK(test::mapsOf(children[i]->pid()) == maps[i]);
        processes[i].detach();
        children[i]->say("end");
        INFO(i);
        CHECK(children[i]->exitCode() == 5);
    }
}

TEST_CASE("a fault's signal that waits when the thread is stopped isn't the blob's, and stays") {
    Child child(awaitFault);
    REQUIRE(child.hear() == "ready");
    auto process = FrozenProcess::freeze(child.pid());
    auto& leader = process.leader();
    {
        // Queues a signal of a fault, as if the tracer had interrupted the thread between its fault and the signal.
        RemoteSyscalls calls(leader, process.syscallInstruction());
        const RemoteBuffer buffer(calls, sizeof(siginfo_t));
        siginfo_t fault{};
        fault.si_signo = SIGSEGV;
        fault.si_code = SEGV_MAPERR;
        fault.si_addr = reinterpret_cast<void*>(0x12340);
        process.memory().writeValue(buffer.address(), fault);
        calls.checkedCall("rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo,
                          {static_cast<std::uint64_t>(child.pid()), static_cast<std::uint64_t>(child.pid()), SIGSEGV,
                           buffer.address()});
    }
    const auto waits = [&leader] {
        const auto pending = leader.pendingSignals(SignalQueue::Thread);
        return pending.size() == 1 && pending[0].si_signo == SIGSEGV && pending[0].si_code == SEGV_MAPERR &&
               pending[0].si_addr == reinterpret_cast<void*>(0x12340);
    };
    REQUIRE(waits());
    for (int turn = 0; turn < 2; ++turn) {
        Injection injection(leader, testblob::blob, 65536, process.syscallInstruction());
        injection.memory().writeValue(injection.data(), Argument{.task = Task::Identify});
        CHECK(injection.run(leader, injection.data(), injection.data() + injection.dataSize()) == child.pid());
        CHECK(waits());
        // Checks that the thread doesn't get the signal of a blob's fault.
        injection.memory().writeValue(injection.data(), Argument{.task = Task::Crash});
        CHECK_THROWS_WITH(injection.run(leader, injection.data(), injection.data() + injection.dataSize()),
                          Catch::Contains("crashed with signal 11 at offset"));
        CHECK(waits());
    }
    process.detach();
    child.say("end");
    CHECK(child.exitCode() == 5);
}

TEST_CASE("a blob that crashes or doesn't end leaves the thread unchanged") {
    Child child(guardVectors);
    REQUIRE(child.hear() == "ready");
    auto process = FrozenProcess::freeze(child.pid());
    const auto maps = test::mapsOf(child.pid());
    const auto before = stateOf(process.leader());
    {
        Injection injection(process.leader(), testblob::blob, 65536);
        const auto stack = injection.data() + injection.dataSize();
        SECTION("crash") {
            injection.memory().writeValue(injection.data(), Argument{.task = Task::Crash});
            CHECK_THROWS_WITH(injection.run(process.leader(), injection.data(), stack),
                              Catch::Contains("crashed with signal 11 at offset"));
        }
        SECTION("endless loop") {
            injection.memory().writeValue(injection.data(), Argument{.task = Task::Spin});
            auto run = injection.start(process.leader(), injection.data(), stack);
            std::this_thread::sleep_for(1ms);
            CHECK_FALSE(run.ended());
        }
        SECTION("endless loop that is waited for") {
            injection.memory().writeValue(injection.data(), Argument{.task = Task::Spin});
            auto run = injection.start(process.leader(), injection.data(), stack);
            CHECK_THROWS_AS(run.finish([] { throw std::out_of_range("enough"); }), std::out_of_range);
        }
        SECTION("endless loop with a limit") {
            process.leader().setOptions({.longestWait = 50ms});
            injection.memory().writeValue(injection.data(), Argument{.task = Task::Spin});
            CHECK_THROWS_WITH(injection.run(process.leader(), injection.data(), stack),
                              Catch::Contains("doesn't stop"));
        }
        SECTION("blocked in a system call") {
            injection.memory().writeValue(injection.data(), Argument{.task = Task::Block});
            auto run = injection.start(process.leader(), injection.data(), stack);
            std::this_thread::sleep_for(1ms);
        }
    }
    CHECK(stateOf(process.leader()) == before);
    CHECK(test::mapsOf(child.pid()) == maps);
    process.detach();
    child.say("end");
    CHECK(child.exitCode() == 5);
}

TEST_CASE("signals for a thread in a blob wait, and faults' signals sent by others aren't lost") {
    static std::atomic<int> traps;
    static std::atomic<int> others;
    Child child([](const Child::Talk& talk) {
        struct sigaction action {};
        action.sa_handler = [](int signal) { ++(signal == SIGTRAP ? traps : others); };
        action.sa_flags = SA_RESTART;
        for (const int signal : {SIGTRAP, SIGUSR1, SIGSEGV})
            sigaction(signal, &action, nullptr);
        talk.say("ready");
        talk.hear();
        return traps == 1 && others == 2 ? 5 : traps * 10 + others;
    });
    REQUIRE(child.hear() == "ready");
    auto process = FrozenProcess::freeze(child.pid());
    Injection injection(process.leader(), testblob::blob, 65536);
    injection.memory().writeValue(injection.data(), Argument{.task = Task::Identify});
    REQUIRE(::kill(child.pid(), SIGTRAP) == 0);
    REQUIRE(::kill(child.pid(), SIGUSR1) == 0);
    REQUIRE(::syscall(SYS_tgkill, child.pid(), child.pid(), SIGSEGV) == 0);
    CHECK(injection.run(process.leader(), injection.data(), injection.data() + 65536) == child.pid());
    injection.cure();
    CHECK(process.leader().pendingSignals(SignalQueue::Process).size() == 2);
    CHECK(process.leader().pendingSignals(SignalQueue::Thread).size() == 1);
    process.detach();
    child.say("end");
    CHECK(child.exitCode() == 5);
}

TEST_CASE("signals of faults without siginfo stay pending for whom they were sent to") {
    Child child([](const Child::Talk& talk) {
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_SIGPENDING, &none);
        sigset_t all;
        sigfillset(&all);
        ::sigprocmask(SIG_BLOCK, &all, nullptr);
        for (const int signal : {SIGTRAP, SIGSEGV})
            ::pthread_kill(::pthread_self(), signal);
        for (const int signal : {SIGTRAP, SIGBUS})
            ::sigqueue(::getpid(), signal, {});
        talk.say("ready");
        talk.hear();
        return 5;
    });
    REQUIRE(child.hear() == "ready");
    auto process = FrozenProcess::freeze(child.pid());
    auto& leader = process.leader();
    const auto before = stateOf(leader);
    for (int turn = 0; turn < 2; ++turn) {
        Injection injection(leader, testblob::blob, 65536);
        injection.memory().writeValue(injection.data(), Argument{.task = Task::Identify});
        CHECK(injection.run(leader, injection.data(), injection.data() + 65536) == child.pid());
        injection.cure();
        CHECK(stateOf(leader) == before);
    }
    process.detach();
    child.say("end");
    CHECK(child.exitCode() == 5);
}

TEST_CASE("two thousand threads run a blob at the same time", "[thousands]") {
    constexpr int count = 2000;
    Child child([](const Child::Talk& talk) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 65536);
        for (int index = 1; index < count; ++index) {
            pthread_t thread;
            const auto idle = [](void*) -> void* {
                for (;;)
                    ::pause();
            };
            if (pthread_create(&thread, &attributes, idle, nullptr) != 0)
                return 1;
        }
        talk.say("ready");
        return talk.hear() == "end" ? 5 : 1;
    });
    REQUIRE(child.hear() == "ready");
    auto process = FrozenProcess::freeze(child.pid());
    REQUIRE(process.threads().size() == count);
    {
        constexpr std::uint64_t slot = stackSize + 4096;
        Injection injection(process.leader(), testblob::blob, count * slot, process.syscallInstruction());
        std::vector<BlobRun> runs;
        runs.reserve(count);
        for (std::size_t index = 0; index < count; ++index) {
            const auto at = injection.data() + index * slot;
            injection.memory().writeValue(at, Argument{.task = Task::Identify});
            runs.push_back(injection.start(process.threads()[index].tracee, at, at + slot));
        }
        std::size_t right = 0;
        for (std::size_t index = 0; index < count; ++index)
            right += runs[index].finish() == process.threads()[index].tracee.tid();
        CHECK(right == count);
    }
    process.detach();
    child.say("end");
    CHECK(child.exitCode() == 5);
}

TEST_CASE("a stopped process runs a blob and stays stopped") {
    Child child([](const Child::Talk& talk) { return talk.hear() == "end" ? 5 : 1; });
    REQUIRE(::kill(child.pid(), SIGSTOP) == 0);
    REQUIRE(test::eventually([&] { return test::stateOf(child.pid()) == 'T'; }));
    {
        auto process = FrozenProcess::freeze(child.pid());
        Injection injection(process.leader(), testblob::blob, 65536);
        injection.memory().writeValue(injection.data(), Argument{.task = Task::Identify});
        CHECK(injection.run(process.leader(), injection.data(), injection.data() + 65536) == child.pid());
    }
    CHECK(test::eventually([&] { return test::stateOf(child.pid()) == 'T'; }));
    REQUIRE(::kill(child.pid(), SIGCONT) == 0);
    child.say("end");
    CHECK(child.exitCode() == 5);
}

TEST_CASE("a failed allocation is an error, and leaves no mapping") {
    Child child([](const Child::Talk& talk) {
        talk.say("ready");
        return talk.hear() == "end" ? 5 : 1;
    });
    REQUIRE(child.hear() == "ready");
    auto process = FrozenProcess::freeze(child.pid());
    const auto maps = test::mapsOf(child.pid());
    CHECK_THROWS_WITH(Injection(process.leader(), testblob::blob, std::uint64_t{1} << 50),
                      Catch::Contains("mmap in thread") && Catch::Contains("Cannot allocate memory"));
    CHECK(test::mapsOf(child.pid()) == maps);
    process.detach();
    child.say("end");
    CHECK(child.exitCode() == 5);
}
