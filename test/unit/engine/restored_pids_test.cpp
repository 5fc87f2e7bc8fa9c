// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/birth/restored_pids.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>

using namespace criu;
using namespace criu::engine;

namespace {

[[noreturn]] void sleepOn() {
    for (;;)
        ::pause();
}

/// Creates a process with another parent than this one.
pid_t stranger() {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t between = ::fork();
    if (between == 0) {
        const pid_t child = ::fork();
        if (child == 0)
            sleepOn();
        const bool told = ::write(ends[1], &child, sizeof(child)) == sizeof(child);
        ::_exit(told ? 0 : 1);
    }
    REQUIRE(::waitpid(between, nullptr, 0) == between);
    pid_t pid = 0;
    REQUIRE(::read(ends[0], &pid, sizeof(pid)) == sizeof(pid));
    ::close(ends[0]);
    ::close(ends[1]);
    return pid;
}

pid_t sleeper() {
    const pid_t pid = ::fork();
    if (pid == 0)
        sleepOn();
    return pid;
}

}  // namespace

TEST_CASE("a failed restore doesn't wait without limit for a traced process of its pid namespace") {
    auto* const member = static_cast<std::atomic<pid_t>*>(
        ::mmap(nullptr, sizeof(std::atomic<pid_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    REQUIRE(member != MAP_FAILED);
    // The init of a pid namespace ends only when it is alone there. A child of it has ended, but stays a zombie until
    // its tracer, which is outside, reaps it.
    const auto createRoot = [member] {
        const long pid = ::syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
        if (pid == 0) {
            if (::fork() == 0)
                sleepOn();
            sleepOn();
        }
        return HostPid(static_cast<pid_t>(pid));
    };
    const HostPid root = createRoot();
    if (root.value < 0) {
        WARN("skipped: no right to make a pid namespace");
        return;
    }
    const std::string children = fmt::format("/proc/{0}/task/{0}/children", root.value);
    pid_t child = 0;
    while (!(std::ifstream(children) >> child))
        ::usleep(1000);
    const pid_t debugger = ::fork();
    if (debugger == 0) {
        *member = ::ptrace(PTRACE_SEIZE, child, nullptr, nullptr) == 0 ? child : -1;
        sleepOn();
    }
    while (*member == 0)
        ::usleep(1000);
    REQUIRE(*member == child);
    Log log;
    RestoreControl control(3);
    const auto begin = std::chrono::steady_clock::now();
    {
        const RestoredPids processes(
            control, TreePidNs::OfTree, log,
            [root] {
                return FirstProcesses{root, root};
            },
            std::chrono::milliseconds(300));
    }
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::minutes(2));
    CHECK(::kill(root.value, 0) == 0);
    CHECK(::kill(debugger, SIGKILL) == 0);
    CHECK(::waitpid(debugger, nullptr, 0) == debugger);
    CHECK(::waitpid(root.value, nullptr, 0) == root.value);
    ::munmap(member, sizeof(*member));
}

TEST_CASE("a failed restore kills its processes, and none that has the pid of an ended one") {
    const pid_t other = stranger();
    Log log;
    RestoreControl control(3);
    pid_t root = 0;
    pid_t child = 0;
    {
        const RestoredPids processes(control, TreePidNs::OfCriu, log, [&root] {
            root = sleeper();
            return FirstProcesses{HostPid(root), HostPid(root)};
        });
        child = sleeper();
        control.noteCreated(TreePid(root));
        control.noteCreated(TreePid(child));
        control.noteCreated(TreePid(other));
    }
    CHECK(::kill(root, 0) == -1);
    CHECK(::kill(child, 0) == -1);
    CHECK(::kill(other, 0) == 0);
    ::kill(other, SIGKILL);
}
