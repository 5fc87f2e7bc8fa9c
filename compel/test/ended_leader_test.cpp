// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>

#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.hpp"

using namespace compel;
using test::Child;
using test::startIdleThreads;
using test::threadsListed;

TEST_CASE("a process whose main thread has exited is frozen by its other threads") {
    Child child([](const Child::Talk&) {
        startIdleThreads(2);
        ::syscall(SYS_exit, 0);
        return 0;
    });
    child.awaitState('Z');
    FrozenProcess process = FrozenProcess::freeze(child.pid());
    CHECK(process.leaderEnded());
    CHECK(process.pid() == child.pid());
    CHECK(process.threads().size() == 2);
    const pid_t acting = process.leader().tid();
    CHECK(acting != child.pid());
    CHECK(process.syscallInstruction());
    {
        RemoteSyscalls calls(process.leader());
        CHECK(calls.call(SYS_getpid) == child.pid());
        calls.restore();
    }
    process.stopAsGroup(SIGSTOP);
    process.detach();
    CHECK(test::eventually([&] { return test::stateOf(acting) == 'T'; }));
    ::kill(child.pid(), SIGCONT);
    CHECK(test::eventually([&] { return test::stateOf(acting) == 'S'; }));
    FrozenProcess again = FrozenProcess::freeze(child.pid());
    CHECK(again.threads().size() == 2);
    again.kill();
    CHECK(child.exitCode() == 128 + SIGKILL);
}

TEST_CASE("the main thread of a frozen process ends alone") {
    Child child([](const Child::Talk&) {
        startIdleThreads(2);
        for (;;)
            ::pause();
        return 0;
    });
    CHECK(test::eventually([&] { return threadsListed(child.pid()) == 3; }));
    FrozenProcess process = FrozenProcess::freeze(child.pid());
    CHECK_FALSE(process.leaderEnded());
    Registers registers = process.leader().registers();
    registers.setCall(SYS_exit, {3}, process.syscallInstruction()->address);
    process.leader().setRegisters(registers);
    process.releaseEndingLeader();
    CHECK(test::stateOf(child.pid()) == 'Z');
    CHECK(process.leaderEnded());
    CHECK(process.leader().tid() != child.pid());
    process.stopAsGroup(SIGSTOP);
    process.detach();
    CHECK(threadsListed(child.pid()) == 3);
}
