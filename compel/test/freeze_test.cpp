// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/error.hpp>
#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "child.hpp"

using namespace compel;
using test::Child;
using test::startIdleThreads;
using test::threadsListed;
using namespace std::chrono_literals;

namespace {

std::atomic<int> delivered;

/// Makes the kernel start an io_uring worker thread for this process. Returns false if the kernel has no io_uring.
bool makeKernelWorker() {
    io_uring_params parameters{};
    const int ring = static_cast<int>(::syscall(SYS_io_uring_setup, 1, &parameters));
    if (ring < 0)
        return false;
    const auto map = [ring](std::size_t size, off_t offset) {
        return static_cast<char*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, offset));
    };
    char* const rings = map(parameters.sq_off.array + sizeof(unsigned), IORING_OFF_SQ_RING);
    auto& request = *reinterpret_cast<io_uring_sqe*>(map(sizeof(io_uring_sqe), IORING_OFF_SQES));
    static char byte = 0;
    request = {};
    request.opcode = IORING_OP_READ;
    request.flags = IOSQE_ASYNC;
    request.fd = ::open("/proc/self/exe", O_RDONLY);
    request.addr = reinterpret_cast<std::uintptr_t>(&byte);
    request.len = 1;
    *reinterpret_cast<unsigned*>(rings + parameters.sq_off.array) = 0;
    __atomic_store_n(reinterpret_cast<unsigned*>(rings + parameters.sq_off.tail), 1, __ATOMIC_RELEASE);
    return ::syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0) == 1;
}

/// Starts a child as init of a new pid namespace. Returns when the child has called `prepare`; the child then only
/// sleeps. Returns 0 if no pid namespace can be created.
template <typename Prepare>
pid_t startFirst(const Prepare& prepare) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const auto pid = static_cast<pid_t>(::syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, nullptr, nullptr, nullptr, 0));
    if (pid == 0) {
        prepare();
        const char byte = 'r';
        if (::write(ready[1], &byte, 1) == 1)
            for (;;)
                ::pause();
        ::_exit(1);
    }
    const bool forbidden = pid < 0 && errno == EPERM;
    ::close(ready[1]);
    char byte = 0;
    const bool isReady = pid > 0 && ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
    if (forbidden)
        WARN("skipped: no pid namespace can be made");
    else
        REQUIRE(isReady);
    return forbidden ? 0 : pid;
}

}  // namespace

TEST_CASE("threads in which the kernel works for a process aren't its threads") {
    Child child([](const Child::Talk& talk) {
        talk.say(makeKernelWorker() ? "made" : "none");
        return talk.hear() == "end" ? 7 : 1;
    });
    if (child.hear() == "none")
        return;
    CHECK(threadsListed(child.pid()) == 2);
    for (int round = 0; round < 3; ++round) {
        auto process = FrozenProcess::freeze(child.pid());
        CHECK(process.threads().size() == 1);
        RemoteSyscalls remote(process.leader());
        CHECK(remote.call(SYS_getpid) == child.pid());
        remote.restore();
        process.detach();
    }
    CHECK(threadsListed(child.pid()) == 2);
    child.say("end");
    CHECK(child.exitCode() == 7);
}

TEST_CASE("threads that come and go while they are seized are all stopped") {
    Child child([](const Child::Talk& talk) {
        std::atomic<bool> end{false};
        std::atomic<long> born{0};
        // Each thread starts its successor and ends.
        std::function<void()> live = [&] {
            ++born;
            if (!end)
                std::thread(live).detach();
        };
        for (int line = 0; line < 8; ++line)
            std::thread(live).detach();
        talk.say("ready");
        while (talk.hear() != "end")
            talk.say(std::to_string(born.load()));
        end = true;
        std::this_thread::sleep_for(50ms);
        return 3;
    });
    REQUIRE(child.hear() == "ready");
    for (int round = 0; round < 30; ++round) {
        auto process = FrozenProcess::freeze(child.pid());
        std::size_t traced = 0;
        for (const auto& thread : process.threads()) {
            CHECK(thread.tracee.stopped()->kind == StopInfo::Kind::Interrupted);
            traced += test::stateOf(thread.tracee.tid()) == 't';
        }
        CHECK(traced == process.threads().size());
        std::size_t dead = 0;
        for (const auto& entry :
             std::filesystem::directory_iterator("/proc/" + std::to_string(child.pid()) + "/task")) {
            const char state = test::stateOf(std::stoi(entry.path().filename()));
            dead += state != 't';
            CAPTURE(state);
            CHECK((state == 't' || state == 'Z' || state == 'X' || state == '?'));
        }
        CHECK(traced + dead >= threadsListed(child.pid()));
        process.detach();
        child.say("go on");
        const long before = std::stol(child.hear());
        CHECK(test::eventually([&] {
            child.say("go on");
            return std::stol(child.hear()) > before;
        }));
    }
    child.say("end");
    CHECK(child.exitCode() == 3);
}

TEST_CASE("two thousand threads", "[thousands]") {
    Child child([](const Child::Talk& talk) {
        startIdleThreads(1999);
        talk.say("ready");
        return talk.hear() == "end" ? 5 : 1;
    });
    REQUIRE(child.hear() == "ready");
    REQUIRE(threadsListed(child.pid()) == 2000);
    auto process = FrozenProcess::freeze(child.pid());
    CHECK(process.threads().size() == 2000);
    CHECK(process.threads().front().tracee.tid() == child.pid());
    process.detach();
    child.say("end");
    CHECK(child.exitCode() == 5);
}

TEST_CASE("a running process is brought into a group-stop without executing its code") {
    struct Shared {
        std::atomic<std::uint64_t> counters[3];
        std::atomic<int> handled;
    };
    auto* const shared =
        new (::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared{};
    const auto [signal, handler] = GENERATE(std::pair(SIGSTOP, true), std::pair(SIGTSTP, false));
    Child child([shared = shared](const Child::Talk& talk) -> int {
        ::setsid();  // makes the kernel ignore SIGTSTP
        static Shared* own;
        own = shared;
        ::signal(SIGUSR1, [](int) { ++own->handled; });
        for (int index = 0; index < 2; ++index)
            std::thread([index] {
                for (;;)
                    ++own->counters[index];
            }).detach();
        talk.say("ready");
        for (;;)
            ++own->counters[2];
    });
    child.hear();
    {
        auto process = FrozenProcess::freeze(child.pid());
        std::uint64_t counted[3];
        std::copy(std::begin(shared->counters), std::end(shared->counters), counted);
        if (handler)
            REQUIRE(::kill(child.pid(), SIGUSR1) == 0);
        process.stopAsGroup(signal);
        process.detach();
        CHECK(test::eventually([&] { return test::stateOf(child.pid()) == 'T'; }));
        CHECK(std::equal(std::begin(counted), std::end(counted), std::begin(shared->counters)));
        CHECK(shared->handled == 0);
    }
    REQUIRE(::kill(child.pid(), SIGCONT) == 0);
    CHECK(test::eventually([&, sent = handler] { return shared->handled == (sent ? 1 : 0); }));
    const std::uint64_t counted = shared->counters[0];
    CHECK(test::eventually([&] { return shared->counters[0] != counted; }));
    ::munmap(static_cast<void*>(shared), sizeof(Shared));
}

TEST_CASE("a stopped process stays stopped, and its parent hears of it once") {
    Child child([](const Child::Talk& talk) {
        startIdleThreads(3);
        talk.say("ready");
        return talk.hear() == "end" ? 5 : 1;
    });
    REQUIRE(child.hear() == "ready");
    // Puts the child into its own process group. The test needs a process group that isn't orphaned: if this program is
    // a session leader, its process group is orphaned, and the kernel ignores SIGTSTP in it.
    REQUIRE(::setpgid(child.pid(), child.pid()) == 0);
    const int stopSignal = GENERATE(SIGSTOP, SIGTSTP);
    REQUIRE(::kill(child.pid(), stopSignal) == 0);
    int status = 0;
    REQUIRE(::waitpid(child.pid(), &status, WUNTRACED) == child.pid());
    REQUIRE(WIFSTOPPED(status));
    {
        auto process = FrozenProcess::freeze(child.pid());
        REQUIRE(process.threads().size() == 4);
        for (const auto& thread : process.threads()) {
            CHECK(thread.groupStopped());
            CHECK(thread.stopSignal == stopSignal);
        }
        RemoteSyscalls remote(process.leader());
        CHECK(remote.call(SYS_getpid) == child.pid());
    }
    CHECK(test::eventually([&] { return test::stateOf(child.pid()) == 'T'; }));
    std::this_thread::sleep_for(20ms);
    CHECK(test::stateOf(child.pid()) == 'T');
    REQUIRE(::kill(child.pid(), SIGCONT) == 0);
    child.say("end");
    CHECK(child.exitCode() == 5);
}

TEST_CASE("SIGSTOP that arrives during a system call of the tracer stops the process afterwards") {
    Child child([](const Child::Talk& talk) {
        startIdleThreads(3);
        talk.say("ready");
        return talk.hear() == "end" ? 5 : 1;
    });
    REQUIRE(child.hear() == "ready");
    {
        auto process = FrozenProcess::freeze(child.pid());
        RemoteSyscalls remote(process.leader());
        REQUIRE(::kill(child.pid(), SIGSTOP) == 0);
        for (int round = 0; round < 10; ++round)
            CHECK(remote.call(SYS_getpid) == child.pid());
    }
    CHECK(test::eventually([&] { return test::stateOf(child.pid()) == 'T'; }));
    SECTION("and SIGCONT resumes it") {
        REQUIRE(::kill(child.pid(), SIGCONT) == 0);
        child.say("end");
        CHECK(child.exitCode() == 5);
    }
    SECTION("and SIGCONT during the next calls resumes it") {
        auto process = FrozenProcess::freeze(child.pid());
        CHECK(process.threads().front().groupStopped());
        {
            RemoteSyscalls remote(process.leader());
            CHECK(remote.call(SYS_getpid) == child.pid());
            REQUIRE(::kill(child.pid(), SIGCONT) == 0);
            CHECK(remote.call(SYS_getpid) == child.pid());
        }
        process.detach();
        child.say("end");
        CHECK(child.exitCode() == 5);
    }
}

TEST_CASE("signals that arrive while threads are seized, frozen and used are delivered once each") {
    Child child([](const Child::Talk& talk) {
        struct sigaction action {};
        action.sa_handler = [](int) { ++delivered; };
        action.sa_flags = SA_RESTART;
        sigaction(SIGRTMIN, &action, nullptr);
        startIdleThreads(4);
        talk.say("ready");
        for (;;) {
            const auto word = talk.hear();
            if (word == "end")
                return 5;
            talk.say(std::to_string(delivered.load()));
        }
    });
    REQUIRE(child.hear() == "ready");
    std::atomic<int> sent{0};
    std::jthread storm([&](const std::stop_token& end) {
        while (!end.stop_requested()) {
            if (::sigqueue(child.pid(), SIGRTMIN, sigval{.sival_int = 1}) == 0)
                ++sent;
            if (sent % 64 == 0)
                std::this_thread::sleep_for(1ms);
        }
    });
    for (int round = 0; round < 200; ++round) {
        auto process = FrozenProcess::freeze(child.pid());
        CHECK(process.threads().size() == 5);
        for (auto& thread : process.threads()) {
            RemoteSyscalls remote(thread.tracee, process.syscallInstruction());
            CHECK(remote.call(SYS_gettid) == thread.tracee.tid());
        }
        process.detach();
    }
    storm.request_stop();
    storm.join();
    CHECK(sent > 100);
    CHECK(test::eventually([&] {
        child.say("how many");
        return std::stoi(child.hear()) == sent;
    }));
    std::this_thread::sleep_for(10ms);
    child.say("how many");
    CHECK(std::stoi(child.hear()) == sent);
    child.say("end");
    CHECK(child.exitCode() == 5);
}

TEST_CASE("queued signals can be read and stay queued") {
    Child child([](const Child::Talk& talk) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, nullptr);
        talk.say("ready");
        talk.hear();
        siginfo_t info;
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, SIGRTMIN + 1);
        int sum = 0;
        for (int count = 0; count < 40; ++count)
            if (sigwaitinfo(&one, &info) == SIGRTMIN + 1)
                sum += info.si_value.sival_int;
        return sum == 40 * 39 / 2 ? 5 : 1;
    });
    REQUIRE(child.hear() == "ready");
    auto process = FrozenProcess::freeze(child.pid());
    for (int number = 0; number < 40; ++number)
        REQUIRE(::sigqueue(child.pid(), SIGRTMIN + 1, sigval{.sival_int = number}) == 0);
    REQUIRE(::syscall(SYS_tgkill, child.pid(), child.pid(), SIGUSR1) == 0);
    const auto shared = process.leader().pendingSignals(SignalQueue::Process);
    REQUIRE(shared.size() == 40);
    CHECK(shared[39].si_value.sival_int == 39);
    const auto own = process.leader().pendingSignals(SignalQueue::Thread);
    REQUIRE(own.size() == 1);
    CHECK(own[0].si_signo == SIGUSR1);
    process.detach();
    child.say("go on");
    CHECK(child.exitCode() == 5);
}

TEST_CASE("what can't be frozen is refused with the reason") {
    SECTION("a process that is gone") {
        const pid_t pid = ::fork();
        if (pid == 0)
            ::_exit(0);
        ::waitpid(pid, nullptr, 0);
        CHECK_THROWS_AS(FrozenProcess::freeze(pid), TraceeGone);
    }
    SECTION("a zombie") {
        const pid_t pid = ::fork();
        if (pid == 0)
            ::_exit(0);
        REQUIRE(test::eventually([&] { return test::stateOf(pid) == 'Z'; }));
        CHECK_THROWS_AS(FrozenProcess::freeze(pid), TraceeGone);
        ::waitpid(pid, nullptr, 0);
    }
    SECTION("a process with a tracer") {
        Child child([](const Child::Talk& talk) { return talk.hear() == "end" ? 5 : 1; });
        Child tracer([&](const Child::Talk& talk) {
            ptrace(PTRACE_SEIZE, child.pid(), 0, 0);
            talk.say("ready");
            talk.hear();
            return 0;
        });
        REQUIRE(tracer.hear() == "ready");
        CHECK_THROWS_WITH(FrozenProcess::freeze(child.pid()),
                          Catch::Contains("traced by process " + std::to_string(tracer.pid())));
    }
    SECTION("a thread's number") {
        Child child([](const Child::Talk& talk) {
            std::thread([&] {
                talk.say(std::to_string(::gettid()));
                talk.hear();
            }).join();
            return 0;
        });
        CHECK_THROWS_WITH(FrozenProcess::freeze(std::stoi(child.hear())), Catch::Contains("is a thread of process"));
    }
    SECTION("a parent in vfork") {
        Child child([](const Child::Talk& talk) {
            if (::vfork() == 0) {
                talk.say("ready");
                talk.hear();
                ::_exit(0);
            }
            return 5;
        });
        REQUIRE(child.hear() == "ready");
        // Separate process as the tracer, because the end of the tracer detaches the thread that doesn't stop.
        Child tracer([&](const Child::Talk& talk) {
            try {
                FrozenProcess::freeze(child.pid(), {.patience = 200ms});
            } catch (const Error& error) {
                talk.say(error.what());
            }
            return 0;
        });
        CHECK_THAT(tracer.hear(), Catch::Contains("doesn't stop"));
        CHECK(tracer.exitCode() == 0);
        child.say("go on");
        CHECK(child.exitCode() == 5);
    }
}

TEST_CASE("a thread that runs isn't taken for one that has ended when no descriptor is left to look at it") {
    Child child([](const Child::Talk& talk) { return talk.hear() == "end" ? 5 : 1; });
    Child tracer([&](const Child::Talk& talk) {
        Tracee tracee = Tracee::seize(child.pid(), {});
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_NOFILE, &none);
        int looks = 0;
        const auto look = [&] {
            if (++looks == 2)
                throw std::runtime_error("looked twice");
        };
        try {
            tracee.waitStop(look);
        } catch (const std::exception& error) {
            talk.say(error.what());
        }
        return 0;
    });
    CHECK(tracer.hear() == "looked twice");
    CHECK(tracer.exitCode() == 0);
    child.say("end");
    CHECK(child.exitCode() == 5);
}

TEST_CASE("a process that dies while frozen is reported and leaves nothing behind") {
    Child child([](const Child::Talk& talk) {
        startIdleThreads(50);
        talk.say("ready");
        talk.hear();
        return 0;
    });
    REQUIRE(child.hear() == "ready");
    SECTION("killed by another") {
        {
            auto process = FrozenProcess::freeze(child.pid());
            RemoteSyscalls remote(process.leader());
            REQUIRE(::kill(child.pid(), SIGKILL) == 0);
            CHECK_THROWS_AS(
                [&] {
                    for (;;)
                        remote.call(SYS_getpid);
                }(),
                TraceeGone);
        }
    }
    SECTION("killed by the tracer") {
        auto process = FrozenProcess::freeze(child.pid());
        process.kill();
    }
    // kill() has already reaped the child, because this process is both its tracer and its parent.
    CHECK(::waitpid(child.pid(), nullptr, __WALL) == -1);
    CHECK(test::stateOf(child.pid()) == '?');
}

// The last thread of init ends when all other threads have ended and were reaped. Which thread is the last is random.
TEST_CASE("the first process of a pid namespace is killed, whichever thread of it ends last") {
    for (int round = 0; round < 30; ++round) {
        const pid_t pid = startFirst([] { startIdleThreads(8); });
        if (pid == 0)
            return;
        FrozenProcess::freeze(pid).kill();
        CHECK(test::stateOf(pid) == '?');
    }
}

// Init of a pid namespace ends when all other processes of the namespace have been reaped. Their parents may be outside
// of the namespace.
TEST_CASE("the first process of a pid namespace is left to itself if others keep it from ending") {
    const auto pid = static_cast<pid_t>(::syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, nullptr, nullptr, nullptr, 0));
    if (pid < 0 && errno == EPERM) {
        WARN("skipped: no pid namespace can be made");
        return;
    }
    REQUIRE(pid >= 0);
    if (pid == 0)
        for (;;)
            ::pause();
    const int home = ::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    const int there = ::open(("/proc/" + std::to_string(pid) + "/ns/pid").c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(::setns(there, CLONE_NEWPID) == 0);
    const pid_t visitor = ::fork();
    if (visitor == 0)
        for (;;)
            ::pause();
    REQUIRE(::setns(home, CLONE_NEWPID) == 0);
    ::close(home);
    ::close(there);
    CHECK_FALSE(FrozenProcess::freeze(pid).killFirst(std::chrono::milliseconds(20)));
    // Some kernels wait in state I for the other processes (zap_pid_ns_processes()).
    const char state = test::stateOf(pid);
    CHECK((state == 'S' || state == 'I'));
    int status = 0;
    CHECK((::waitpid(visitor, &status, 0) == visitor && WIFSIGNALED(status)));
    CHECK((::waitpid(pid, &status, __WALL) == pid && WIFSIGNALED(status)));
}

TEST_CASE("the first process of a pid namespace ends at once if it has that to itself") {
    const auto pid = static_cast<pid_t>(::syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, nullptr, nullptr, nullptr, 0));
    if (pid < 0 && errno == EPERM) {
        WARN("skipped: no pid namespace can be made");
        return;
    }
    REQUIRE(pid >= 0);
    if (pid == 0)
        for (;;)
            ::pause();
    CHECK(FrozenProcess::freeze(pid).killFirst(std::chrono::hours(1)));
    CHECK(test::stateOf(pid) == '?');
}

// Init of a pid namespace ends when all other processes of the namespace have been reaped. A traced process must first
// be reaped by its tracer.
TEST_CASE("a wait for the init of a pid namespace reports its kill while other processes there are traced") {
    const pid_t pid = startFirst([] {
        if (::fork() == 0)
            for (;;)
                ::pause();
    });
    if (pid == 0)
        return;
    std::ifstream children("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
    pid_t other = 0;
    REQUIRE(children >> other);
    {
        auto first = FrozenProcess::freeze(pid);
        auto child = FrozenProcess::freeze(other);
        RemoteSyscalls remote(first.leader());
        REQUIRE(::kill(pid, SIGKILL) == 0);
        CHECK_THROWS_AS(
            [&] {
                for (;;)
                    remote.call(SYS_getpid);
            }(),
            TraceeGone);
    }
    CHECK(::waitpid(pid, nullptr, __WALL) == -1);
    CHECK(test::stateOf(pid) == '?');
}

TEST_CASE("a killed process keeps its memory until it is resumed to its end") {
    Child child([](const Child::Talk& talk) {
        std::thread other([] {
            for (;;)
                ::pause();
        });
        talk.say("ready");
        other.join();
        return 0;
    });
    CHECK(child.hear() == "ready");
    std::optional<FrozenProcess> process = FrozenProcess::freeze(child.pid());
    REQUIRE(process->threads().size() == 2);
    process->keepMemoryWhenKilled();
    process->beginKill();
    CHECK(process->waitKilled());
    CHECK(test::mapsOf(child.pid()).find("[stack]") != std::string::npos);
    SECTION("by being killed again") {
        process->kill();
        CHECK(test::stateOf(child.pid()) == '?');
    }
    SECTION("by being given up") {
        process.reset();
        CHECK(child.exitCode() == 128 + SIGKILL);
    }
}
