// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/error.hpp>
#include <compel/remote_syscalls.hpp>
#include <compel/single_thread_run.hpp>

#include <catch2/catch.hpp>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "child.hpp"

using namespace compel;
using test::Child;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kPage = 4096;

enum class Order { Count, Exit, ExitProcess, Fault, CreateThread };

/// Content of the memory that test and child share.
struct Shared {
    std::atomic<long> helperRuns{0};
    std::atomic<long> otherRuns{0};
    std::atomic<long> createdRuns{0};
    std::atomic<pid_t> helper{0};
    std::atomic<Order> order{Order::Count};  ///< next order for the helper thread
    std::atomic<long> handled{0};            ///< number of SIGUSR1 signals that the helper has handled
    std::atomic<long> faults{0};
    std::atomic<long> parent{0};  ///< last result of getppid(2) in the helper
    char* hidden = nullptr;       ///< page of the child in which the first access faults
};

Shared* shared = nullptr;

void countSignal(int) {
    ++shared->handled;
}

void openPage(int) {
    ++shared->faults;
    ::mprotect(shared->hidden, kPage, PROT_READ | PROT_WRITE);
}

void obey() {
    switch (shared->order.exchange(Order::Count)) {
        case Order::Count:
            return;
        case Order::Exit:
            ::syscall(SYS_exit, 0);
            return;
        case Order::ExitProcess:
            ::_exit(9);
        case Order::Fault:
            *static_cast<volatile char*>(shared->hidden) = 1;
            return;
        case Order::CreateThread:
            std::thread([] {
                for (;;)
                    ++shared->createdRuns;
            }).detach();
            return;
    }
}

int live(const Child::Talk& talk) {
    ::signal(SIGUSR1, countSignal);
    ::signal(SIGSEGV, openPage);
    std::thread([] {
        shared->helper = static_cast<pid_t>(::syscall(SYS_gettid));
        for (;;) {
            shared->parent = ::syscall(SYS_getppid);
            obey();
            ++shared->helperRuns;
        }
    }).detach();
    std::thread([] {
        for (;;)
            ++shared->otherRuns;
    }).detach();
    talk.say("ready");
    return talk.hear() == "end" ? 7 : 1;
}

/// Maps the memory that the test shares with a forked child, and a page in which the child faults.
class SharedMemory {
public:
    SharedMemory() : memory_(::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
        shared = new (memory_) Shared;
        shared->hidden = static_cast<char*>(::mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    }
    ~SharedMemory() {
        ::munmap(shared->hidden, kPage);
        ::munmap(memory_, kPage);
    }
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

private:
    void* memory_;
};

/// Child with a helper thread that executes orders, and with another thread that counts.
class Served {
public:
    explicit Served(const std::function<int(const Child::Talk&)>& body = live) : child_(body) {
        REQUIRE(child_.hear() == "ready");
        REQUIRE(test::eventually([] { return shared->helper != 0; }));
    }

    [[nodiscard]] pid_t pid() const noexcept { return child_.pid(); }
    [[nodiscard]] FrozenProcess freeze(const FreezeOptions& options = {}) const {
        return FrozenProcess::freeze(pid(), options);
    }
    void awaitState(char state) const { child_.awaitState(state); }
    /// Makes the child exit, and checks its exit status.
    void requireEnd() {
        child_.say("end");
        CHECK(child_.exitCode() == 7);
    }

private:
    SharedMemory memory_;
    Child child_;
};

bool goesOn(const std::atomic<long>& count) {
    const long before = count;
    return test::eventually([&] { return count > before + 1; });
}

/// Waits until the helper thread has made progress.
void awaitRounds(SingleThreadRun& run) {
    const long wanted = shared->helperRuns + 1000;
    run.await([&] { return shared->helperRuns > wanted; }, 60s);
}

bool standsStill(const std::atomic<long>& count) {
    const long before = count;
    std::this_thread::sleep_for(20ms);
    return count == before;
}

Tracee& traceeOf(FrozenProcess& process, pid_t tid) {
    for (FrozenThread& thread : process.threads())
        if (thread.tracee.tid() == tid)
            return thread.tracee;
    throw std::runtime_error("no such thread");
}

void endWell(Served& served) {
    CHECK(goesOn(shared->helperRuns));
    CHECK(goesOn(shared->otherRuns));
    served.requireEnd();
}

}  // namespace

TEST_CASE("one thread of a frozen process runs, and stops again") {
    Served served;
    auto process = served.freeze();
    const SignalMask mask = traceeOf(process, shared->helper).signalMask();
    REQUIRE(standsStill(shared->helperRuns));
    for (int round = 0; round < 3; ++round) {
        SingleThreadRun run(process, shared->helper);
        awaitRounds(run);
        CHECK(standsStill(shared->otherRuns));
        if (round == 0)
            continue;  // the destructor of the run stops the thread
        run.stop();
        CHECK(standsStill(shared->helperRuns));
    }
    CHECK(standsStill(shared->helperRuns));
    CHECK(traceeOf(process, shared->helper).signalMask() == mask);
    CHECK(process.threads().size() == 3);
    process.detach();
    endWell(served);
}

namespace {

/// Observer that makes the thread call gettid(2) before its getppid(2) returns, and changes the result of getppid(2).
/// `calls`: number of system calls after which the observation ends.
class Liar : public SystemCallWatch {
public:
    explicit Liar(int calls) : left_(calls) {}

    void enter(Tracee& thread) override {
        ++entered;
        asked_ = thread.registers().syscallNumber() == SYS_getppid;
    }
    bool leave(Tracee& thread) override {
        ++left;
        if (asked_) {
            ownNumber = insertCall(thread, SYS_gettid, {});
            Registers registers = thread.registers();
            registers.setSyscallResult(4711);
            thread.setRegisters(registers);
        }
        return --left_ != 0;
    }

    int entered = 0;
    int left = 0;
    std::int64_t ownNumber = 0;

private:
    int left_;
    bool asked_ = false;
};

}  // namespace

TEST_CASE("the system calls of a thread that runs alone can be watched and changed") {
    Served served;
    auto process = served.freeze();
    const SignalMask mask = traceeOf(process, shared->helper).signalMask();
    SECTION("to the end") {
        Liar liar(-1);
        SingleThreadRun run(process, shared->helper, FreezeOptions().patience, &liar);
        run.await([&] { return liar.left >= 20 && shared->parent == 4711; }, 60s);
        run.stop();
        CHECK(liar.ownNumber == shared->helper);
        CHECK(liar.entered - liar.left <= 1);
        CHECK(standsStill(shared->helperRuns));
    }
    SECTION("until the watch has seen enough") {
        Liar liar(5);
        SingleThreadRun run(process, shared->helper, FreezeOptions().patience, &liar);
        awaitRounds(run);
        CHECK(shared->parent == ::getpid());
        CHECK(liar.entered == 5);
        CHECK(liar.left == 5);
        run.stop();
    }
    SECTION("and is stopped wherever it is") {
        for (int turn = 0; turn < 50; ++turn) {
            Liar liar(-1);
            SingleThreadRun run(process, shared->helper, FreezeOptions().patience, &liar);
            for (int stops = 0; stops < turn; ++stops)
                run.serve(1ms);
            run.stop();
            REQUIRE(traceeOf(process, shared->helper).stopped()->kind == StopInfo::Kind::Interrupted);
        }
    }
    CHECK(traceeOf(process, shared->helper).signalMask() == mask);
    process.detach();
    endWell(served);
}

TEST_CASE("signals wait while one thread runs, but for its own faults") {
    Served served;
    auto process = served.freeze();
    const SignalMask mask = traceeOf(process, shared->helper).signalMask();
    REQUIRE(::syscall(SYS_tgkill, served.pid(), shared->helper.load(), SIGUSR1) == 0);
    {
        SingleThreadRun run(process, shared->helper);
        awaitRounds(run);
        REQUIRE(::kill(served.pid(), SIGUSR1) == 0);
        shared->order = Order::Fault;
        run.await([] { return shared->faults == 1 && shared->order == Order::Count; }, 60s);
        // Checks that a SIGSEGV of another process doesn't count as a fault.
        REQUIRE(::syscall(SYS_tgkill, served.pid(), shared->helper.load(), SIGSEGV) == 0);
        awaitRounds(run);
        CHECK(shared->handled == 0);
        CHECK(shared->faults == 1);
        run.stop();
    }
    Tracee& helper = traceeOf(process, shared->helper);
    CHECK(helper.signalMask() == mask);
    CHECK(helper.pendingSignals(SignalQueue::Thread).size() == 2);
    CHECK(helper.pendingSignals(SignalQueue::Process).size() == 1);
    process.detach();
    CHECK(test::eventually([] { return shared->handled == 2 && shared->faults == 2; }));
    endWell(served);
}

TEST_CASE("a process that was stopped is so after one of its threads ran") {
    Served served;
    const bool before = GENERATE(true, false);
    if (before) {
        ::kill(served.pid(), SIGSTOP);
        served.awaitState('T');
    }
    auto process = served.freeze();
    {
        SingleThreadRun run(process, shared->helper);
        awaitRounds(run);
        if (!before)
            ::kill(served.pid(), SIGSTOP);
        awaitRounds(run);
        CHECK(standsStill(shared->otherRuns));
    }
    CHECK(standsStill(shared->helperRuns));
    process.detach();
    served.awaitState('T');
    CHECK(standsStill(shared->helperRuns));
    ::kill(served.pid(), SIGCONT);
    endWell(served);
}

TEST_CASE("the end of a thread that runs alone is an error") {
    Served served;
    auto process = served.freeze();
    SECTION("of the thread") {
        {
            SingleThreadRun run(process, shared->helper);
            shared->order = Order::Exit;
            CHECK_THROWS_AS(run.await([] { return false; }, 60s), TraceeGone);
            CHECK_THROWS_AS(run.stop(), TraceeGone);
        }
        CHECK(process.threads().size() == 2);
        process.detach();
        CHECK(goesOn(shared->otherRuns));
        served.requireEnd();
    }
    SECTION("of its process") {
        {
            SingleThreadRun run(process, shared->helper);
            shared->order = Order::ExitProcess;
            CHECK_THROWS_AS(run.await([] { return false; }, 60s), TraceeGone);
        }
        process.kill();
        CHECK(test::stateOf(served.pid()) == '?');
    }
    SECTION("by SIGKILL") {
        {
            SingleThreadRun run(process, shared->helper);
            ::kill(served.pid(), SIGKILL);
            CHECK_THROWS_AS(run.await([] { return false; }, 60s), TraceeGone);
        }
        process.kill();
        CHECK(test::stateOf(served.pid()) == '?');
    }
}

TEST_CASE("waiting for a thread that runs alone ends") {
    Served served;
    auto process = served.freeze();
    {
        SingleThreadRun run(process, shared->helper);
        try {
            run.await([] { return false; }, 50ms);
            FAIL("it has waited in vain without saying so");
        } catch (const Error& error) {
            CHECK(error.code() == ETIMEDOUT);
        }
        CHECK_THROWS_WITH(run.await([]() -> bool { throw std::runtime_error("stop wanted"); }, 60s), "stop wanted");
    }
    CHECK(standsStill(shared->helperRuns));
    process.detach();
    endWell(served);
}

TEST_CASE("only a stopped thread of the process can be let run") {
    Served served;
    auto process = served.freeze();
    CHECK_THROWS_WITH(SingleThreadRun(process, ::getpid()), Catch::Contains("no stopped thread"));
    {
        const SingleThreadRun run(process, shared->helper);
        CHECK_THROWS_WITH(SingleThreadRun(process, shared->helper), Catch::Contains("no stopped thread"));
    }
    process.detach();
    endWell(served);
}

TEST_CASE("threads that a thread creates while it runs alone are stopped with it") {
    Served served;
    auto process = served.freeze();
    {
        SingleThreadRun run(process, shared->helper);
        shared->order = Order::CreateThread;
        run.await([] { return shared->createdRuns > 0; }, 60s);
    }
    CHECK(process.threads().size() == 4);
    CHECK(standsStill(shared->createdRuns));
    process.detach();
    CHECK(goesOn(shared->createdRuns));
    endWell(served);
}

namespace {

/// Installs a seccomp filter in the child with `action` for the system call `call`.
int liveWithout(const Child::Talk& talk, unsigned call, unsigned action) {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{4, code};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 3;
    return live(talk);
}

/// Observer that makes the thread make one more system call when its next system call returns.
class Inserting : public SystemCallWatch {
public:
    Inserting(std::int64_t number, const SyscallArguments& arguments) : number_(number), arguments_(arguments) {}

    void enter(Tracee&) override {}
    bool leave(Tracee& thread) override {
        if (std::exchange(tried_, true))
            return false;
        mask = thread.signalMask();
        runs = shared->helperRuns;
        try {
            result = insertCall(thread, number_, arguments_);
        } catch (...) {
            runsAfter = shared->helperRuns;
            throw;
        }
        runsAfter = shared->helperRuns;
        maskAfter = thread.signalMask();
        return false;
    }

    std::optional<std::int64_t> result;
    SignalMask mask = 0;
    SignalMask maskAfter = 0;
    long runs = 0;  ///< number of rounds of the helper before the inserted call
    long runsAfter = -1;

private:
    std::int64_t number_;
    SyscallArguments arguments_;
    bool tried_ = false;
};

}  // namespace

TEST_CASE("filters of a process don't see a call that is inserted, and hold for its own") {
    Served served([](const Child::Talk& talk) { return liveWithout(talk, SYS_madvise, SECCOMP_RET_KILL_PROCESS); });
    auto process = served.freeze();
    {
        Inserting watch(SYS_madvise, {reinterpret_cast<std::uint64_t>(shared->hidden), kPage, MADV_HUGEPAGE});
        SingleThreadRun run(process, shared->helper, FreezeOptions().patience, &watch);
        run.await([&] { return watch.result.has_value(); }, 60s);
        CHECK(*watch.result == 0);
        CHECK(watch.mask == watch.maskAfter);
        awaitRounds(run);
        CHECK_FALSE(traceeOf(process, shared->helper).options().suspendSeccomp);
    }
    process.detach();
    endWell(served);
}

TEST_CASE("a thread goes on as before when a call that was inserted doesn't come to an end") {
    Served served;
    FreezeOptions options;
    options.seize.longestWait = 200ms;
    auto process = served.freeze(options);
    const SignalMask mask = traceeOf(process, shared->helper).signalMask();
    {
        Inserting watch(SYS_ppoll, {});
        SingleThreadRun run(process, shared->helper, FreezeOptions().patience, &watch);
        CHECK_THROWS_AS(run.await([] { return false; }, 60s), Error);
        CHECK_FALSE(watch.result.has_value());
        CHECK(watch.runs == watch.runsAfter);
        awaitRounds(run);
        CHECK(shared->parent == ::getpid());
    }
    CHECK(traceeOf(process, shared->helper).signalMask() == mask);
    process.detach();
    endWell(served);
}

TEST_CASE("seccomp filters hold while one thread runs, and are suspended again afterwards") {
    Served served([](const Child::Talk& talk) { return liveWithout(talk, SYS_getppid, SECCOMP_RET_ERRNO | ENOSYS); });
    FreezeOptions options;
    options.seize.suspendSeccomp = true;
    auto process = served.freeze(options);
    {
        SingleThreadRun run(process, shared->helper);
        const long wanted = shared->helperRuns + 2;
        run.await([&] { return shared->helperRuns > wanted; }, 60s);
        CHECK(shared->parent == -1);
    }
    {
        RemoteSyscalls remote(traceeOf(process, shared->helper));
        CHECK(remote.call(SYS_getppid) == ::getpid());
    }
    process.detach();
    endWell(served);
}
