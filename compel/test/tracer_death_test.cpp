// SPDX-License-Identifier: LGPL-2.1-only
// Kills a tracer at each of its system calls in turn. The traced process must continue unchanged.
#include <compel/injection.hpp>
#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>
#include <compel/standby.hpp>

#include <catch2/catch.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "child.hpp"
#include "compel/test/blob/test_blob.hpp"
#include "compel_test_blob.hpp"

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

/// Makes all changes to a process that the library can make, in all threads at the same time.
void workOn(FrozenProcess& process) {
    constexpr std::uint64_t slot = 32768;
    {
        Injection injection(process.leader(), testblob::blob, slot * process.threads().size(),
                            process.syscallInstruction());
        std::vector<BlobRun> runs;
        RemoteAddress at = injection.data();
        for (auto& thread : process.threads()) {
            injection.memory().writeValue(at, testblob::Argument{});
            runs.push_back(injection.start(thread.tracee, at, at + slot));
            at += slot;
        }
        for (BlobRun& run : runs)
            run.finish();
    }
    for (auto& thread : process.threads()) {
        RemoteSyscalls calls(thread.tracee, process.syscallInstruction());
        calls.call(SYS_getpid);
        calls.call(SYS_getppid);
    }
    process.detach();
}

void workOn(pid_t pid) {
    auto process = FrozenProcess::freeze(pid);
    workOn(process);
}

/// Puts all threads of a process in stand-by. In stand-by, each thread waits until its argument in the returned data
/// isn't 0.
std::vector<Standby> standBy(FrozenProcess& process, Injection& injection, std::uint64_t first) {
    const std::uint64_t slot = 4 * signalFrameRoom() + 16384;
    std::vector<Standby> standbys;
    RemoteAddress at = injection.data();
    for (auto& thread : process.threads()) {
        injection.memory().writeValue(at, testblob::Argument{.task = testblob::Task::Await, .numbers = {first}});
        standbys.push_back(Standby::place(thread.tracee, at + slot).value());
        standbys.back().enter(injection.code() + testblob::blob.entryOffset, at, at + slot / 2);
        at += slot;
    }
    return standbys;
}

Injection injectForStandby(FrozenProcess& process) {
    return {process.leader(), testblob::blob, (4 * signalFrameRoom() + 16384) * process.threads().size(),
            process.syscallInstruction()};
}

/// Returns true if the stand-by of a thread refuses a stack that ends where its signal frame ends.
bool refusesStackInFrame(pid_t pid) {
    auto process = FrozenProcess::freeze(pid);
    Injection injection = injectForStandby(process);
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
    Injection injection = injectForStandby(process);
    for (Standby& standby : standBy(process, injection, 1))
        standby.leave();
    injection.cure();
    process.detach();
}

/// Calls `work` in a child process, which then ends without cleaning up.
void dieAfter(const std::function<void()>& work) {
    const pid_t worker = ::fork();
    if (worker == 0) {
        try {
            work();
        } catch (const std::exception&) {
            ::_exit(1);
        }
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(worker, &status, 0);
    REQUIRE(status == 0);
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

/// Sends SIGWINCH to the calling process, which ignores it. Marks where dieAt() begins to count.
void beginCount() {
    ::raise(SIGWINCH);
}

/// Calls `work` in a child process, and kills this process at its system call stop `number`, counted from 0. Counts
/// from the start of `work`, or from beginCount() with `marked`. Returns false if the process ended before this stop.
bool dieAt(unsigned number, const std::function<void()>& work, bool marked = false) {
    const pid_t worker = ::fork();
    if (worker == 0) {
        ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        ::raise(SIGSTOP);
        int code = 0;
        try {
            work();
        } catch (const std::exception&) {
            code = 1;
        }
        ::_exit(code);
    }
    int status = 0;
    ::waitpid(worker, &status, 0);
    ::ptrace(PTRACE_SETOPTIONS, worker, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    unsigned seen = 0;
    int signal = 0;
    for (;;) {
        ::ptrace(PTRACE_SYSCALL, worker, nullptr, signal);
        ::waitpid(worker, &status, 0);
        if (!WIFSTOPPED(status)) {
            CHECK(status == 0);
            return false;
        }
        const bool isSyscall = WSTOPSIG(status) == (SIGTRAP | 0x80);
        signal = isSyscall ? 0 : WSTOPSIG(status);
        if (signal == SIGWINCH)
            marked = false;
        if (isSyscall && !marked && seen++ == number) {
            ::kill(worker, SIGKILL);
            ::waitpid(worker, &status, 0);
            return true;
        }
    }
}

std::vector<pid_t> threadsOf(pid_t pid) {
    auto process = FrozenProcess::freeze(pid);
    std::vector<pid_t> all;
    for (const auto& thread : process.threads())
        all.push_back(thread.tracee.tid());
    return all;
}

/// Returns values of a thread's status that a tracer changes temporarily, to compare them later.
std::string pictureOf(pid_t tid) {
    return test::statusOf(tid, "TracerPid") + ' ' + test::statusOf(tid, "SigBlk") + ' ' +
           test::statusOf(tid, "SigPnd") + ' ' + test::statusOf(tid, "ShdPnd") + ' ' +
           (test::stateOf(tid) == 't' ? "traced" : "");
}

/// Calls `work` again and again, and kills its process at another system call each time.
void dieEverywhere(pid_t pid, const std::function<void()>& work) {
    const std::vector<pid_t> threads = threadsOf(pid);
    std::vector<std::string> before;
    for (const pid_t tid : threads)
        before.push_back(pictureOf(tid));
    for (unsigned number = 0; dieAt(number, work); ++number) {
        INFO("killed at stop " << number);
        for (std::size_t index = 0; index < threads.size(); ++index) {
            if (!test::eventually([&] { return pictureOf(threads[index]) == before[index]; }))
                FAIL(pictureOf(threads[index]) << " was " << before[index]);
        }
    }
}

}  // namespace

TEST_CASE("a process whose tracer is killed anywhere goes on") {
    Child child(liveOn);
    REQUIRE(child.hear() == "ready");
    dieEverywhere(child.pid(), [&] { workOn(child.pid()); });
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
    dieEverywhere(child.pid(), [&] { workOn(child.pid()); });
    child.say("end");
    CHECK(child.exitCode() == 0);
}

TEST_CASE("a process in stand-by whose tracer is killed anywhere goes on") {
    Child child(liveOn);
    REQUIRE(child.hear() == "ready");
    dieEverywhere(child.pid(), [&] { standByOnce(child.pid()); });
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
    const std::size_t threads = threadsOf(child.pid()).size();
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    dieAfter([&] {
        auto process = FrozenProcess::freeze(child.pid());
        Injection injection = injectForStandby(process);
        (void)standBy(process, injection, 0);
        const RemoteAddress data = injection.data();
        if (::write(ends[1], &data, sizeof(data)) != sizeof(data))
            ::_exit(1);
        ::_exit(0);
    });
    RemoteAddress at = 0;
    REQUIRE(::read(ends[0], &at, sizeof(at)) == sizeof(at));
    ::close(ends[0]);
    ::close(ends[1]);
    dieEverywhere(child.pid(), [&] { workOn(child.pid()); });
    for (std::size_t i = 0; i < threads; ++i, at += 4 * signalFrameRoom() + 16384)
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
    dieEverywhere(child.pid(), [&] { workOn(child.pid()); });
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
    dieEverywhere(child.pid(), [&] { workOn(child.pid()); });
    child.say("end");
    CHECK(child.exitCode() == 0);
}

#if defined(__x86_64__)
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

/// Child whose system calls outside of the C library raise SIGSYS. `on`: false for a child that has no dispatch yet.
int dispatchAndLoop(const Child::Talk& talk, DispatchWords& words, bool on) {
    const CodeRange code = libraryCode();
    if (on && ::prctl(setDispatch, 1, code.start, code.end - code.start, &words.selector) != 0) {
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

}  // namespace

TEST_CASE("a thread whose tracer is killed anywhere has its syscall user dispatch again") {
    auto& words = *static_cast<DispatchWords*>(
        ::mmap(nullptr, sizeof(DispatchWords), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    Child child([&](const Child::Talk& talk) { return dispatchAndLoop(talk, words, true); });
    if (child.hear() == "can't") {
        WARN("skipped: this kernel hasn't got syscall user dispatch");
        return;
    }
    REQUIRE(test::eventually([&] { return words.selector != 0; }));
    const auto before = dispatchOf(child.pid());
    if (!before) {
        WARN("skipped: this kernel doesn't show syscall user dispatch (6.4)");
        return;
    }
    for (unsigned number = 0; dieAt(number, [&] { workOn(child.pid()); }); ++number) {
        INFO("killed at stop " << number);
        REQUIRE(test::eventually([&] {
            const auto now = dispatchOf(child.pid());
            return now && now->start == before->start && now->size == before->size && now->selector == before->selector;
        }));
    }
    words.ends = true;
    CHECK(child.exitCode() == 0);
}

TEST_CASE("a thread in stand-by whose tracer is killed gets its syscall user dispatch") {
    auto& words = *static_cast<DispatchWords*>(
        ::mmap(nullptr, sizeof(DispatchWords), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    Child child([&](const Child::Talk& talk) { return dispatchAndLoop(talk, words, false); });
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
    dieAfter([&] {
        auto process = FrozenProcess::freeze(child.pid());
        Injection injection = injectForStandby(process);
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
    CHECK(test::eventually([&] {
        const auto now = dispatchOf(child.pid());
        return now && now->start == wanted.start && now->size == wanted.size && now->selector == wanted.selector;
    }));
    words.ends = true;
    CHECK(child.exitCode() == 0);
}

namespace {

/// Exit status of callAndEnd() if the call ends with EINTR, or with a result after it has started again.
constexpr int endedCall = 10;
constexpr int repeatedCall = 11;

/// Number of signals that the child has handled. The test and the child share it.
std::atomic<int>& taken() {
    static std::atomic<int>* const counter = static_cast<std::atomic<int>*>(
        ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    return *counter;
}

/// Child that handles SIGUSR1 and SIGCONT, and blocks in a call that input from the test ends.
int callAndEnd(const Child::Talk& talk, int flags, int file, const std::function<long()>& call) {
    struct sigaction action {};
    action.sa_handler = [](int) { ++taken(); };
    action.sa_flags = flags;
    ::sigaction(SIGUSR1, &action, nullptr);
    ::sigaction(SIGCONT, &action, nullptr);
    talk.say("ready");
    const long result = call();
    const int code = errno;
    char byte = 0;
    if (result < 0)
        return code == EINTR && taken() > 0 && ::read(file, &byte, 1) == 1 ? endedCall : 90;
    return taken() > 0 ? repeatedCall : 91;
}

/// Stops a child in a blocked call, and kills its tracer at the stop `number` of `work`. Returns the child's exit
/// status, or nothing if the tracer ended before this stop. `signal`: signal that is pending in the stopped child; 0
/// for none. `marked`: see dieAt().
std::optional<int> resultAfterDeath(unsigned number, bool waits, int flags, int signal, bool marked) {
    int line[2];
    REQUIRE(::pipe(line) == 0);
    taken() = 0;
    Child child([&](const Child::Talk& talk) {
        return callAndEnd(talk, flags, line[0], [&]() -> long {
            char byte = 0;
            if (!waits)
                return ::read(line[0], &byte, 1);
            pollfd ready{line[0], POLLIN, 0};
            return ::ppoll(&ready, 1, nullptr, nullptr);
        });
    });
    REQUIRE(child.hear() == "ready");
    child.awaitState('S');
    ::kill(child.pid(), SIGSTOP);
    child.awaitState('T');
    if (signal != 0)
        ::kill(child.pid(), signal);
    const bool died = dieAt(
        number,
        [&] {
            auto process = FrozenProcess::freeze(child.pid());
            beginCount();
            workOn(process);
        },
        marked);
    ::kill(child.pid(), SIGCONT);
    REQUIRE(test::eventually(
        [&] { return test::statusOf(child.pid(), "SigPnd").find_first_not_of("0 \t\n") == std::string::npos; }));
    REQUIRE(::write(line[1], "x", 1) == 1);
    const int code = child.exitCode().value();
    ::close(line[0]);
    ::close(line[1]);
    return died ? std::optional(code) : std::nullopt;
}

}  // namespace

TEST_CASE("a signal that is pending for a stopped process ends its call after the tracer's death") {
    struct Case {
        bool waits;
        int flags;
        int signal;
        bool marked;
        int wanted;
    };
    // Where SA_RESTART decides, begins after the freeze, in which the tracer asks for it.
    const Case each = GENERATE(Case{true, SA_RESTART, SIGUSR1, false, endedCall}, Case{true, 0, 0, false, endedCall},
                               Case{false, 0, SIGUSR1, true, endedCall}, Case{false, 0, 0, true, endedCall},
                               Case{false, SA_RESTART, SIGUSR1, false, repeatedCall});
    CAPTURE(each.waits, each.flags, each.signal);
    for (unsigned number = 0;; ++number) {
        INFO("killed at stop " << number);
        const auto result = resultAfterDeath(number, each.waits, each.flags, each.signal, each.marked);
        if (!result)
            break;
        REQUIRE(*result == each.wanted);
    }
}

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
    dieAfter([&] {
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
    workOn(child.pid());
    child.say("end");
    CHECK(child.exitCode() == 0);
}
