// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/injection.hpp>
#include <compel/interrupted_call.hpp>
#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>

#include <catch2/catch.hpp>

#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "child.hpp"
#include "compel/test/blob/test_blob.hpp"
#include "compel_test_blob.hpp"

using namespace compel;
using test::Child;
using namespace std::chrono_literals;

namespace {

volatile sig_atomic_t handled;

void freezeAndUse(pid_t pid) {
    auto process = FrozenProcess::freeze(pid);
    for (int round = 0; round < 3; ++round) {
        RemoteSyscalls remote(process.leader(), process.syscallInstruction());
        CHECK(remote.call(SYS_getpid) == pid);
        CHECK(remote.call(SYS_close, -1) == -EBADF);
        remote.restore();
        Injection injection(process.leader(), testblob::blob, 65536, process.syscallInstruction());
        injection.memory().writeValue(injection.data(), testblob::Argument{});
        CHECK(injection.run(process.leader(), injection.data(), injection.data() + 65536) == pid);
    }
    process.detach();
}

/// Starts a child that sleeps in `blocking`. Freezes the child several times, and makes system calls and runs a blob in
/// it, which the child must not notice. Returns the child's exit status.
int childThatSleeps(int (*blocking)(), std::function<void(pid_t)> wake = {}) {
    Child child([&](const Child::Talk& talk) {
        struct sigaction action {};
        action.sa_handler = [](int) { handled = handled + 1; };
        sigaction(SIGUSR1, &action, nullptr);
        talk.say("ready");
        return blocking();
    });
    child.hear();
    for (int round = 0; round < 5; ++round) {
        child.awaitState('S');
        std::this_thread::sleep_for(10ms);
        freezeAndUse(child.pid());
    }
    if (wake) {
        // The child may still be on its way back into the call, where a signal would come before the call.
        child.awaitState('S');
        wake(child.pid());
    }
    return child.exitCode().value_or(-1);
}

/// Duration of a sleep in milliseconds. requireRestOfTime() changes it before it starts a child.
int sleepLength = 0;

timespec sleepTime() {
    return {sleepLength / 1000, sleepLength % 1000 * 1'000'000L};
}

int elapsedMilliseconds(const timespec& start) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<int>((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1'000'000);
}

/// Waits until the child sleeps. Returns false if it has ended.
bool sleepsAgain(const Child& child) {
    char state = '?';
    REQUIRE(test::eventually([&] { return (state = test::stateOf(child.pid())) == 'S' || state == 'Z'; }));
    return state == 'S';
}

/// Freezes a sleeping child five times, and uses it. Returns how long the child has slept at least before the last
/// freeze, in milliseconds. Returns nothing if the child has ended before; a tracer may have reaped it.
std::optional<int> disturb(const Child& child) {
    timespec start{};
    int slept = 0;
    try {
        for (int round = 0; round < 5; ++round) {
            if (!sleepsAgain(child))
                return std::nullopt;
            if (round == 0)
                clock_gettime(CLOCK_MONOTONIC, &start);
            std::this_thread::sleep_for(10ms);
            slept = elapsedMilliseconds(start);
            freezeAndUse(child.pid());
        }
    } catch (const TraceeGone&) {
        return std::nullopt;
    }
    return slept;
}

/// Checks that an interrupted sleep continues with its remaining time. A sleep that starts again takes longer, by the
/// time before the last interruption. Repeats the test, because a busy machine may delay the end of a sleep, and with a
/// longer sleep, if the machine is so slow that the sleep ends before the last interruption.
void requireRestOfTime(bool (*sleeps)()) {
    sleepLength = 300;
    int excess = 0;
    for (int turn = 0; turn < 20; ++turn) {
        Child child([&](const Child::Talk& talk) {
            talk.say("ready");
            timespec start{};
            clock_gettime(CLOCK_MONOTONIC, &start);
            const int status = sleeps() ? 5 : errno;
            talk.say(std::to_string(elapsedMilliseconds(start)));
            return status;
        });
        child.hear();
        const std::optional<int> before = disturb(child);
        if (!before) {
            sleepLength = std::min(2 * sleepLength, 10'000);
            continue;
        }
        excess = std::stoi(child.hear()) - sleepLength;
        REQUIRE(child.exitCode().value_or(-1) == 5);
        REQUIRE(excess >= 0);
        if (excess < *before)
            return;
    }
    FAIL("a sleep took " << excess << " ms too long");
}

}  // namespace

TEST_CASE("an interrupted sleep goes on for the rest of its time") {
    requireRestOfTime([] {
        const timespec time = sleepTime();
        return nanosleep(&time, nullptr) == 0;
    });
}

#ifdef SYS_poll
// Where the C library calls ppoll(2), the kernel itself lengthens the wait by the time of each stop.
TEST_CASE("an interrupted poll goes on for the rest of its time") {
    requireRestOfTime([] { return poll(nullptr, 0, sleepLength) == 0; });
}
#endif

TEST_CASE("an interrupted futex wait with a timeout goes on for the rest of its time") {
    requireRestOfTime([] {
        int word = 0;
        const timespec time = sleepTime();
        return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time, nullptr, 0) == -1 && errno == ETIMEDOUT;
    });
}

TEST_CASE("an interrupted pipe read goes on") {
    static int ends[2];
    REQUIRE(pipe(ends) == 0);
    CHECK(childThatSleeps(
              [] {
                  char byte = 0;
                  return read(ends[0], &byte, 1) == 1 && byte == 'x' ? 5 : 1;
              },
              [](pid_t) { CHECK(write(ends[1], "x", 1) == 1); }) == 5);
    close(ends[0]);
    close(ends[1]);
}

namespace {

/// Event for which a child waits, and which the test triggers: a pipe.
struct Event {
    int ends[2] = {-1, -1};
    Event() { REQUIRE(pipe(ends) == 0); }
    ~Event() {
        close(ends[0]);
        close(ends[1]);
    }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
};

int waitForEvent(int fd, int limit) {
    const int epoll = epoll_create1(0);
    epoll_event event{};
    event.events = EPOLLIN;
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    return epoll_wait(epoll, &event, 1, limit) == 1 ? 5 : errno;
}

}  // namespace

TEST_CASE("calls that the kernel ends with EINTR when a thread is stopped go on") {
    SECTION("epoll_wait") {
        static Event event;
        CHECK(childThatSleeps([] { return waitForEvent(event.ends[0], -1); },
                              [](pid_t) { CHECK(write(event.ends[1], "x", 1) == 1); }) == 5);
    }
    SECTION("sigwaitinfo") {
        CHECK(childThatSleeps(
                  [] {
                      sigset_t set;
                      sigemptyset(&set);
                      sigaddset(&set, SIGUSR2);
                      sigprocmask(SIG_BLOCK, &set, nullptr);
                      return sigwaitinfo(&set, nullptr) == SIGUSR2 ? 5 : errno;
                  },
                  [](pid_t pid) { kill(pid, SIGUSR2); }) == 5);
    }
    SECTION("semop") {
        static const int semaphore = semget(IPC_PRIVATE, 1, 0600);
        REQUIRE(semaphore >= 0);
        CHECK(childThatSleeps(
                  [] {
                      sembuf take{0, -1, 0};
                      return semop(semaphore, &take, 1) == 0 ? 5 : errno;
                  },
                  [](pid_t) {
                      sembuf give{0, 1, 0};
                      CHECK(semop(semaphore, &give, 1) == 0);
                  }) == 5);
        semctl(semaphore, 0, IPC_RMID);
    }
    SECTION("recv with a time limit of the socket") {
        static int ends[2];
        REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        const timeval limit{1000, 0};
        REQUIRE(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0);
        CHECK(childThatSleeps(
                  [] {
                      char byte = 0;
                      return recv(ends[0], &byte, 1, 0) == 1 ? 5 : errno;
                  },
                  [](pid_t) { CHECK(write(ends[1], "x", 1) == 1); }) == 5);
        close(ends[0]);
        close(ends[1]);
    }
}

TEST_CASE("a handled signal that comes while a thread is stopped ends such a call with EINTR") {
    static Event event;
    CHECK(childThatSleeps([] { return waitForEvent(event.ends[0], -1) == EINTR && handled == 1 ? 5 : 1; },
                          [](pid_t pid) {
                              auto process = FrozenProcess::freeze(pid);
                              kill(pid, SIGUSR1);
                          }) == 5);
}

TEST_CASE("the call that a thread goes on with by restart_syscall is known") {
    static const timespec longTime{1000, 0};
    const auto callOf = [](int (*blocking)()) {
        Child child([&](const Child::Talk& talk) {
            talk.say("ready");
            return blocking();
        });
        child.hear();
        std::optional<std::int64_t> found;
        // Stops the thread several times: after the first stop, the thread is in the original call and not in
        // restart_syscall(2), unless freeze() itself has made the kernel prepare the latter.
        for (int stops = 0; stops < 3; ++stops) {
            child.awaitState('S');
            std::this_thread::sleep_for(10ms);
            auto process = FrozenProcess::freeze(child.pid());
            const Registers before = process.leader().registers();
            found = findRestartedCall(process.leader());
            CHECK(found.has_value() == (stops > 0 || !Registers::showsEndedCall));
            CHECK(process.leader().stopped()->kind == StopInfo::Kind::Interrupted);
            CHECK(process.leader().registers().ip() == before.ip());
            CHECK(process.leader().registers().syscallResult() == before.syscallResult());
        }
        CHECK(test::stateOf(child.pid()) != 'Z');
        return found.value_or(-1);
    };
    CHECK(callOf([] { return static_cast<int>(syscall(SYS_nanosleep, &longTime, nullptr)); }) == SYS_nanosleep);
    CHECK(callOf([] {
              return static_cast<int>(syscall(SYS_clock_nanosleep, CLOCK_BOOTTIME, 0, &longTime, nullptr));
          }) == SYS_clock_nanosleep);
#ifdef SYS_poll
    CHECK(callOf([] { return static_cast<int>(syscall(SYS_poll, nullptr, 0, 1'000'000)); }) == SYS_poll);
#endif
    CHECK(callOf([] {
              int word = 0;
              return static_cast<int>(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &longTime, nullptr, 0));
          }) == SYS_futex);
}

TEST_CASE("an interrupted sigsuspend goes on and takes the signal it waits for") {
    CHECK(childThatSleeps(
              [] {
                  sigset_t mask;
                  sigemptyset(&mask);
                  sigaddset(&mask, SIGUSR1);
                  sigprocmask(SIG_BLOCK, &mask, nullptr);
                  sigset_t none;
                  sigemptyset(&none);
                  if (sigsuspend(&none) != -1 || errno != EINTR || handled != 1)
                      return 1;
                  sigset_t now;
                  sigprocmask(SIG_BLOCK, nullptr, &now);
                  return sigismember(&now, SIGUSR1) ? 5 : 2;
              },
              [](pid_t pid) { kill(pid, SIGUSR1); }) == 5);
}

TEST_CASE("a signal for a ppoll that arrives while frozen ends it afterwards") {
    CHECK(childThatSleeps(
              [] {
                  sigset_t mask;
                  sigemptyset(&mask);
                  sigaddset(&mask, SIGUSR1);
                  sigprocmask(SIG_BLOCK, &mask, nullptr);
                  sigset_t none;
                  sigemptyset(&none);
                  if (ppoll(nullptr, 0, nullptr, &none) != -1 || errno != EINTR || handled != 1)
                      return 1;
                  return 5;
              },
              [](pid_t pid) {
                  auto process = FrozenProcess::freeze(pid);
                  kill(pid, SIGUSR1);
                  RemoteSyscalls remote(process.leader());
                  CHECK(remote.call(SYS_getpid) == pid);
              }) == 5);
}

TEST_CASE("a resumed, not detached, thread restarts its system call too") {
    Child child([](const Child::Talk& talk) {
        talk.say("ready");
        timespec start{};
        clock_gettime(CLOCK_MONOTONIC, &start);
        const timespec time{0, 200'000'000};
        if (nanosleep(&time, nullptr) != 0)
            return 1;
        return elapsedMilliseconds(start) >= 200 ? 5 : 2;
    });
    REQUIRE(child.hear() == "ready");
    child.awaitState('S');
    std::this_thread::sleep_for(10ms);
    auto process = FrozenProcess::freeze(child.pid());
    {
        RemoteSyscalls remote(process.leader());
        CHECK(remote.call(SYS_getpid) == child.pid());
    }
    process.leader().cont();
    const auto info = process.leader().waitStop();
    CHECK(info.kind == StopInfo::Kind::Exited);
    CHECK(WEXITSTATUS(info.status) == 5);
}

TEST_CASE("a process in strict seccomp mode executes system calls for its tracer") {
    Child child([](const Child::Talk& talk) {
        talk.say("ready");
        char line[16];
        int ends[2];
        if (pipe(ends) != 0)
            return 1;
        if (prctl(PR_SET_SECCOMP, 1) != 0)
            return 1;
        for (;;)
            if (read(ends[0], line, sizeof(line)) <= 0)
                break;
        syscall(SYS_exit, 5);
        return 1;
    });
    REQUIRE(child.hear() == "ready");
    REQUIRE(test::eventually([&] { return test::statusOf(child.pid(), "Seccomp") == "1"; }));
    {
        auto process = FrozenProcess::freeze(child.pid(), {.seize = {.suspendSeccomp = true}});
        RemoteSyscalls remote(process.leader());
        CHECK(remote.call(SYS_getpid) == child.pid());
        RemoteBuffer buffer(remote, 4096);
        CHECK(buffer.address() != 0);
    }
    CHECK(test::statusOf(child.pid(), "Seccomp") == "1");
    CHECK(test::stateOf(child.pid()) != 'Z');
}

TEST_CASE("a thread is not resumed inside a restartable sequence") {
    // The child spins inside a critical section, which the kernel often aborts by itself. The test checks that the
    // child never continues inside it after a stop in which the thread ran other code.
    Child child([](const Child::Talk& talk) {
        struct alignas(32) Descriptor {
            std::uint32_t version, flags;
            std::uint64_t start, length, abort;
        };
        alignas(32) static Descriptor descriptor{};
        struct alignas(32) Area {
            std::uint32_t cpuStart, cpu;
            std::uint64_t section;
            std::uint32_t flags, node, mm;
            char padding[4];
        };
        alignas(32) static Area area{};
        test::leaveRseq();
        constexpr unsigned signature = 0x53053053;
        if (syscall(SYS_rseq, &area, 32, 0, signature) != 0)
            return 1;
        talk.say("ready");
        for (;;) {
#if defined(__aarch64__)
            asm volatile(
                "adr x9, 1f\n\t"
                "str x9, [%0, #8]\n\t"
                "adr x10, 2f\n\t"
                "sub x10, x10, x9\n\t"
                "str x10, [%0, #16]\n\t"
                "adr x9, 4f\n\t"
                "str x9, [%0, #24]\n\t"
                "str %0, [%1, #8]\n"
                "1:\n\t"
                "yield\n\t"
                "b 1b\n"
                "2:\n\t"
                ".long 0x53053053\n"
                "4:\n\t" ::"r"(&descriptor),
                "r"(&area)
                : "x9", "x10", "memory");
#else
            asm volatile(
                "leaq 1f(%%rip), %%rax\n\t"
                "movq %%rax, 8(%0)\n\t"
                "leaq 2f(%%rip), %%rcx\n\t"
                "subq %%rax, %%rcx\n\t"
                "movq %%rcx, 16(%0)\n\t"
                "leaq 4f(%%rip), %%rax\n\t"
                "movq %%rax, 24(%0)\n\t"
                "movq %0, 8(%1)\n"
                "1:\n\t"
                "pause\n\t"
                "jmp 1b\n"
                "2:\n\t"
                ".long 0x53053053\n"
                "4:\n\t" ::"r"(&descriptor),
                "r"(&area)
                : "rax", "rcx", "memory");
#endif
        }
    });
    REQUIRE(child.hear() == "ready");
    int inside = 0;
    for (int round = 0; round < 200; ++round) {
        auto process = FrozenProcess::freeze(child.pid());
        const auto found = process.leader().registers();
        const auto area = process.leader().rseq();
        REQUIRE(area);
        const auto descriptor = process.memory().readValue<std::uint64_t>(area->address + 8);
        if (descriptor != 0) {
            const auto section = process.memory().readValue<std::array<std::uint64_t, 4>>(descriptor);
            if (found.ip() - section[1] < section[2]) {
                ++inside;
                RemoteSyscalls remote(process.leader(), process.syscallInstruction());
                CHECK(remote.call(SYS_getpid) == child.pid());
                remote.restore();
                CHECK(process.leader().registers().ip() == section[3]);
            }
        }
        process.detach();
        std::this_thread::sleep_for(1ms);
    }
    CHECK(inside > 10);
    CHECK(test::stateOf(child.pid()) == 'R');
}
