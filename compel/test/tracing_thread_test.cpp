// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/error.hpp>
#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>
#include <compel/tracing_thread.hpp>

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

#include "child.hpp"

using namespace compel;
using test::Child;

TEST_CASE("work beside a tracer uses what that has seized, and seizes for it") {
    Child child([](const Child::Talk& talk) { return talk.hear() == "end" ? 5 : 1; });
    Child other([](const Child::Talk& talk) { return talk.hear() == "end" ? 5 : 1; });
    const auto tracerOf = [](const Child& traced) { return std::stoi(test::statusOf(traced.pid(), "TracerPid")); };
    {
        FrozenProcess process = FrozenProcess::freeze(child.pid());
        workBesideTracer([&] {
            CHECK(::gettid() != ::getpid());
            CHECK(RemoteSyscalls(process.threads().front().tracee).call(SYS_getpid) == child.pid());
            FrozenProcess second = FrozenProcess::freeze(other.pid());
            CHECK(tracerOf(other) == ::getpid());
            CHECK(RemoteSyscalls(second.threads().front().tracee).call(SYS_getpid) == other.pid());
            pid_t caller = 0;
            inTracingThread([&] { caller = ::gettid(); });
            CHECK(caller == ::getpid());
            const pid_t forked = ::fork();
            if (forked == 0) {
                inTracingThread([&] { caller = 1; });
                ::_exit(caller);
            }
            int status = 0;
            CHECK(::waitpid(forked, &status, 0) == forked);
            CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 1));
        });
        CHECK(tracerOf(other) == 0);
        CHECK(tracerOf(child) == ::getpid());
    }
    for (Child* const ended : {&child, &other}) {
        ended->say("end");
        CHECK(ended->exitCode() == 5);
    }
}

TEST_CASE("an exception of work beside a tracer is thrown in the waiting thread") {
    CHECK_THROWS_WITH(workBesideTracer([] { throw std::runtime_error("of the work"); }), "of the work");
    workBesideTracer(
        [] { CHECK_THROWS_WITH(inTracingThread([] { throw std::runtime_error("of the tracer"); }), "of the tracer"); });
    int called = 0;
    inTracingThread([&] { ++called; });
    CHECK(called == 1);
}
