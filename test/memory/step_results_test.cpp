// SPDX-License-Identifier: GPL-2.0-only
// Results that criu's code reports from a process are untrusted: the process may have overwritten them.
#include "criu/pie/step_results.hpp"

#include <compel/process.hpp>

#include <catch2/catch.hpp>

#include <sys/syscall.h>

#include "child.hpp"
#include "criu/base/error.hpp"
#include "criu/pie/enter.hpp"

using namespace criu;

namespace {

constexpr std::uint64_t kRoom = 65536;

/// Runs a program that overwrites the word at `offset` of its own head with `value`, as a process with the same memory
/// could. It then fails with EBADF. `text` is the expected message.
void checkScribbled(std::uint64_t offset, std::uint64_t value, const char* text) {
    const test::StoppedChild child([] {});
    auto process = compel::FrozenProcess::freeze(child.pid());
    compel::Injection injection(process.leader(), pie::interpreterBlob(), kRoom);
    pie::RemoteData data(injection.data());
    const auto compose = [value](std::uint64_t target) {
        pie::StepList steps;
        // The second call returns the value that the first one has set.
        steps.call(pie::Subject::Query, 1, SYS_personality, value).check = pie::ResultCheck::Any;
        steps.call(pie::Subject::Query, 2, SYS_personality, 0xffffffff).check = pie::ResultCheck::Any;
        steps.add(pie::Op::StoreResult, pie::Subject::Query, 3, target).check = pie::ResultCheck::Any;
        steps.call(pie::Subject::CloseFd, 77, SYS_close, 77);
        return steps;
    };
    // The address of the head depends only on the number of steps.
    pie::RemoteData trial(injection.data());
    pie::StepList first = compose(0);
    const std::uint64_t head = engine::placeProgram(first, trial, &process.leader()).program;
    pie::StepList steps = compose(head + offset);
    const auto program = engine::placeProgram(steps, data, &process.leader());
    REQUIRE(program.program == head);
    CHECK_THROWS_WITH(engine::runPrograms(injection, data, {&program, 1}), Catch::Contains(text));
}

}  // namespace

TEST_CASE("a program's head that the process has changed isn't followed") {
    SECTION("the address of the steps") {
        checkScribbled(offsetof(pie::Program, steps), 0x7fff0000, "close fd 0x4d");
    }
    SECTION("the number of steps") {
        checkScribbled(offsetof(pie::Program, version), 0x7fff0000, "thread ");
    }
}

TEST_CASE("addresses outside of a program's data are refused") {
    pie::RemoteData data(0x10000);
    const std::uint64_t at = data.reserve(16);
    CHECK_NOTHROW(data.local<std::uint64_t>(at + 8));
    CHECK_THROWS_AS(data.local<std::uint64_t>(at + 9), std::out_of_range);
    CHECK_THROWS_AS(data.local<std::uint64_t>(at - 8), std::out_of_range);
    CHECK_THROWS_AS(data.local<std::uint64_t>(~std::uint64_t{0}), std::out_of_range);
}
