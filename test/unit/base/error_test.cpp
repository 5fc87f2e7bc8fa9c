// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/error.hpp"

#include <compel/process.hpp>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <thread>

#include "criu/base/thread_pool.hpp"

#include <catch2/catch.hpp>

using criu::Error;
using criu::ErrorContext;
using criu::NoOuterContexts;

namespace {

/// Returns the text of the error that ends `work`.
template <typename Work>
std::string failureOf(Work&& work) {
    try {
        work();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "no exception";
}

/// Throws an error inside the context `inner`.
void failInside() {
    const ErrorContext context([] { return "inner"; });
    criu::fail("it");
}

}  // namespace

TEST_CASE("an error's text holds contexts outermost first, then errno's meaning, then the hint") {
    const ErrorContext process([] { return "pid 7"; });
    const ErrorContext descriptor([] { return "fd 3"; });
    Error error(EACCES, "open /dev/kfd");
    error.addHint("add the user to group render");
    CHECK(std::string(error.what()) == "pid 7: fd 3: open /dev/kfd: Permission denied (add the user to group render)");
    CHECK(error.message() == "open /dev/kfd: Permission denied (add the user to group render)");
    CHECK(criu::sourceName(error.where()) == "test/unit/base/error_test.cpp");
}

TEST_CASE("an error omits an innermost context with which its text begins") {
    const ErrorContext process([] { return "pid 7"; });
    const ErrorContext path([] { return "/tmp/file"; });
    CHECK(std::string(Error(0, "/tmp/file has 6 bytes").what()) == "pid 7: /tmp/file has 6 bytes");
    CHECK(std::string(Error(0, "/tmp/file2 has 6 bytes").what()) == "pid 7: /tmp/file: /tmp/file2 has 6 bytes");
    CHECK(std::string(Error(0, "pid 7 ends").what()) == "pid 7: /tmp/file: pid 7 ends");
}

TEST_CASE("sys passes good results through and throws errno for bad ones") {
    CHECK(criu::sys(5, "never") == 5);
    errno = ENOENT;
    try {
        criu::sys(-1, "open {}", "/x");
        FAIL("no exception");
    } catch (const Error& error) {
        CHECK(error.code() == ENOENT);
        CHECK(std::string(error.what()) == "open /x: No such file or directory");
    }
}

TEST_CASE("an error carries the contexts of all scopes that it was made in, outermost first") {
    CHECK(failureOf([] {
              const ErrorContext process([] { return fmt::format("process {}", 7); });
              {
                  const ErrorContext ended([] { return "a scope that has been left"; });
              }
              const ErrorContext descriptor([] { return std::string("fd 3"); });
              criu::failWith(ENOENT, "open /x");
          }) == "process 7: fd 3: open /x: No such file or directory");
    CHECK(failureOf([] { criu::fail("it"); }) == "it");
}

TEST_CASE("a context describes the state at the time of the error") {
    int number = 1;
    const ErrorContext context([&] { return fmt::format("number {}", number); });
    number = 2;
    CHECK(failureOf([] { criu::fail("it"); }) == "number 2: it");
}

TEST_CASE("an error that is caught inside of a context leaves nothing behind") {
    const ErrorContext outer([] { return "outer"; });
    CHECK(failureOf(failInside) == "outer: inner: it");
    CHECK(failureOf([] { criu::fail("another"); }) == "outer: another");
}

TEST_CASE("an error that goes on through catch and throw has each context once") {
    CHECK(failureOf([] {
              const ErrorContext outer([] { return "outer"; });
              try {
                  failInside();
              } catch (const Error&) {
                  CHECK(failureOf(failInside) == "outer: inner: it");  // another error, while the first one exists
                  throw;
              }
          }) == "outer: inner: it");
}

TEST_CASE("an error that is thrown again elsewhere gets the contexts there, each once") {
    const ErrorContext outer([] { return "outer"; });
    std::exception_ptr failure;
    try {
        failInside();
    } catch (...) {
        failure = std::current_exception();
    }
    CHECK(failureOf([&] {
              const ErrorContext again([] { return "thrown again"; });
              criu::rethrow(failure);
          }) == "thrown again: outer: inner: it");
}

TEST_CASE("contexts belong to their thread, and a pool's errors get those of who waits for it") {
    const ErrorContext outer([] { return "outer"; });
    std::string text;
    std::thread([&] { text = failureOf(failInside); }).join();
    CHECK(text == "inner: it");

    criu::ThreadPool pool(2);
    pool.submit([] { failInside(); });
    CHECK(failureOf([&] { pool.wait(); }) == "outer: inner: it");
}

TEST_CASE("errors inside NoOuterContexts begin without the outer contexts") {
    const ErrorContext outer([] { return "outer"; });
    {
        const NoOuterContexts none;
        CHECK(failureOf(failInside) == "inner: it");
    }
    CHECK(failureOf(failInside) == "outer: inner: it");
}

TEST_CASE("a description that fails is left out, also if it makes errors itself") {
    const ErrorContext outer([] { return "outer"; });
    const ErrorContext bad([]() -> std::string { criu::fail("no description"); });
    const ErrorContext odd([] { return "says " + failureOf([] { criu::fail("another"); }); });
    CHECK(failureOf([] { criu::fail("it"); }) == "outer: says another: it");
}

TEST_CASE("other exceptions pass contexts unchanged") {
    const ErrorContext outer([] { return "outer"; });
    CHECK_THROWS_AS(
        [] {
            const ErrorContext inner([] { return "inner"; });
            throw std::bad_alloc();
        }(),
        std::bad_alloc);
    CHECK_THROWS_AS(criu::rethrow(std::make_exception_ptr(std::bad_alloc())), std::bad_alloc);
    CHECK(failureOf(failInside) == "outer: inner: it");
}

TEST_CASE("a failure of ptrace says which process it is about, as any other") {
    const pid_t pid = ::fork();
    if (pid == 0)
        ::_exit(0);
    REQUIRE(::waitpid(pid, nullptr, 0) == pid);
    try {
        const ErrorContext context([] { return "process 7 (sleep)"; });
        (void)compel::FrozenProcess::freeze(pid);
        FAIL("no exception");
    } catch (const compel::Error& error) {
        CHECK(error.code() == ESRCH);
        CHECK(std::string(error.what()) == fmt::format("process 7 (sleep): freeze process {}: No such process", pid));
    }
}

TEST_CASE("the cores of a process are those of its affinity mask") {
    using criu::availableCores;
    cpu_set_t all;
    REQUIRE(::sched_getaffinity(0, sizeof(all), &all) == 0);
    CHECK(availableCores() == static_cast<unsigned>(CPU_COUNT(&all)));
    unsigned onOne = 0;
    std::thread([&] {
        cpu_set_t one;
        CPU_ZERO(&one);
        int first = 0;
        while (!CPU_ISSET(first, &all))
            ++first;
        CPU_SET(first, &one);
        if (::sched_setaffinity(0, sizeof(one), &one) == 0)
            onOne = availableCores();
    }).join();
    CHECK(onOne == 1);
}
