// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/new_processes.hpp"

#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace criu;
using namespace criu::engine;

namespace {

[[noreturn]] void sleepForEver() {
    for (;;)
        ::pause();
}

/// A process whose parent is somebody else than this one.
pid_t stranger() {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t between = ::fork();
    if (between == 0) {
        const pid_t child = ::fork();
        if (child == 0)
            sleepForEver();
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
        sleepForEver();
    return pid;
}

}  // namespace

TEST_CASE("a failed restore ends its processes, and nobody who has the number of one that is gone") {
    const pid_t other = stranger();
    Log log;
    RestoreControl control(3);
    pid_t root = 0;
    pid_t child = 0;
    {
        const NewProcesses processes(control, PidSpace::OfCriu, log, [&root] {
            root = sleeper();
            return HostPid(root);
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
