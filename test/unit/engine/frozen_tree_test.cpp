// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/frozen_tree.hpp"

#include <catch2/catch.hpp>

#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <set>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"

using namespace criu;
using engine::FrozenTree;

namespace {

[[noreturn]] void sleepForEver() {
    for (;;)
        ::pause();
}

/// Forks a child with a chosen pid, once that is free. Nothing without the privilege to choose.
std::optional<pid_t> forkAs(pid_t wanted) {
    clone_args arguments{};
    arguments.exit_signal = SIGCHLD;
    arguments.set_tid = reinterpret_cast<std::uintptr_t>(&wanted);
    arguments.set_tid_size = 1;
    for (int round = 0; round < 10'000; ++round) {
        const long pid = ::syscall(SYS_clone3, &arguments, sizeof(arguments));
        if (pid == 0)
            sleepForEver();
        if (pid > 0)
            return static_cast<pid_t>(pid);
        if (errno != EEXIST)
            break;
        ::usleep(1000);
    }
    return std::nullopt;
}

void end(pid_t pid) {
    ::kill(pid, SIGKILL);
    (void)::waitpid(pid, nullptr, __WALL);
}

/// Process with two children that are reaped automatically, so that their pids are free at once.
struct Family {
    pid_t parent = 0;
    std::array<pid_t, 2> children{};

    Family() {
        int ends[2];
        REQUIRE(::pipe(ends) == 0);
        parent = ::fork();
        if (parent == 0) {
            ::signal(SIGCHLD, SIG_IGN);
            for (pid_t& child : children) {
                child = ::fork();
                if (child == 0)
                    sleepForEver();
            }
            (void)!::write(ends[1], children.data(), sizeof(children));
            sleepForEver();
        }
        REQUIRE(::read(ends[0], children.data(), sizeof(children)) == sizeof(children));
        ::close(ends[0]);
        ::close(ends[1]);
    }
    ~Family() {
        for (const pid_t child : children)
            ::kill(child, SIGKILL);
        end(parent);
    }
    Family(const Family&) = delete;
    Family& operator=(const Family&) = delete;
};

std::set<pid_t> membersOf(FrozenTree& tree) {
    std::set<pid_t> found;
    for (const auto& task : tree.tasks())
        found.insert(task->pid().value);
    return found;
}

pid_t tracerOf(pid_t pid) {
    kernel::ProcBuffer buffer;
    return kernel::readStatus(kernel::ProcDir().open(pid), buffer).tracerPid;
}

/// Checks what is frozen if the second child ends just before process number `at` is stopped, and another process then
/// gets its pid.
void freezeWithStranger(std::size_t at) {
    Family family;
    const pid_t number = family.children[1];
    const std::array<pid_t, 3> all{family.parent, family.children[0], number};
    std::optional<pid_t> stranger;
    StopRequest stop;
    Log log;
    log.setLevel(LogLevel::Message);
    FrozenTree tree(std::chrono::seconds(10), stop, log);
    tree.freeze(HostPid(family.parent), std::nullopt, [&](HostPid pid) {
        if (pid.value != all[at] || stranger)
            return;
        ::kill(number, SIGKILL);
        stranger = forkAs(number);
    });
    if (!stranger) {
        WARN("skipped: a process can't be given a number here");
        return;
    }
    CHECK(membersOf(tree) == std::set<pid_t>{family.parent, family.children[0]});
    CHECK(tracerOf(number) == 0);
    CHECK(tracerOf(family.children[0]) != 0);
    family.children[1] = family.children[0];
    end(*stranger);
}

}  // namespace

TEST_CASE("a process that gets the pid of an ended child isn't frozen with its parent") {
    SECTION("after the children were listed") {
        freezeWithStranger(1);
    }
    SECTION("after the child was looked at") {
        freezeWithStranger(2);
    }
}

TEST_CASE("a tree is frozen with all its processes") {
    Family family;
    StopRequest stop;
    Log log;
    FrozenTree tree(std::chrono::seconds(10), stop, log);
    tree.freeze(HostPid(family.parent), std::nullopt, [](HostPid) {});
    CHECK(membersOf(tree) == std::set<pid_t>{family.parent, family.children[0], family.children[1]});
}
