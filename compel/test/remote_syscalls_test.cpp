// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>

#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <cstring>

#include "child.hpp"

using namespace compel;
using test::Child;

TEST_CASE("a stopped thread executes system calls and doesn't notice") {
    Child child([](const Child::Talk& talk) {
        talk.say("ready");
        return talk.hear() == "end" ? 7 : 1;
    });
    REQUIRE(child.hear() == "ready");
    child.awaitState('S');
    const auto maps = test::mapsOf(child.pid());
    {
        auto process = FrozenProcess::freeze(child.pid());
        REQUIRE(process.threads().size() == 1);
        CHECK_FALSE(process.threads().front().groupStopped());
        const auto before = process.leader().registers();
        const auto mask = process.leader().signalMask();
        {
            RemoteSyscalls remote(process.leader(), process.syscallInstruction());
            CHECK(remote.call(SYS_getpid) == child.pid());
            CHECK(remote.call(SYS_close, -1) == -EBADF);
            RemoteBuffer buffer(remote, 8192);
            process.memory().writeValue<long>(buffer.address(), 42);
            CHECK(process.memory().readValue<long>(buffer.address()) == 42);
            CHECK_THROWS_AS(remote.mmap(1, 0, 0, 0), Error);
        }
        const auto after = process.leader().registers();
        CHECK(std::memcmp(&before, &after, sizeof(before)) == 0);
        CHECK(process.leader().signalMask() == mask);
        process.detach();
    }
    CHECK(test::mapsOf(child.pid()) == maps);
    child.say("end");
    CHECK(child.exitCode() == 7);
}
