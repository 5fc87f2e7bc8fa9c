// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/process_standby.hpp"

#include <compel/error.hpp>
#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "compel/test/child.hpp"

using criu::engine::ProcessStandby;

namespace {

std::vector<std::pair<std::uint64_t, compel::SignalMask>> statesOf(const compel::FrozenProcess& process) {
    std::vector<std::pair<std::uint64_t, compel::SignalMask>> all;
    for (const compel::FrozenThread& thread : process.threads())
        all.emplace_back(thread.tracee.registers().ip(), thread.tracee.signalMask());
    return all;
}

}  // namespace

TEST_CASE("all threads leave their stand-by, also if the kernel refuses a setting of one", "[standby]") {
    const compel::test::Child child([](const compel::test::Child::Talk& talk) {
        compel::test::startIdleThreads(2);
        talk.say("ready");
        talk.hear(std::chrono::hours(1));
        return 0;
    });
    REQUIRE(child.hear() == "ready");
    auto process = compel::FrozenProcess::freeze(child.pid());
    REQUIRE(process.threads().size() == 3);
    const auto before = statesOf(process);
    constexpr std::uint64_t size = std::uint64_t{1} << 20;
    compel::RemoteSyscalls calls(process.leader());
    const compel::RemoteAddress memory = calls.mmapScratch(size);
    calls.restore();
    const compel::InjectedMemory area{memory, memory, size};
    ProcessStandby standby(process, area, false, false);
    const std::size_t refused = GENERATE(0, 2);
    // The kernel refuses an empty range that isn't at 0.
    standby.addDispatch(process.threads()[refused].tracee, {0, 4096, 0});
    REQUIRE(standby.prepare());
    standby.begin();
    CHECK(statesOf(process) != before);
    if (refused == 0) {
        CHECK_THROWS_AS(standby.endLeader(), compel::Error);
        CHECK_NOTHROW(standby.end());
    } else {
        CHECK_THROWS_AS(standby.end(), compel::Error);
    }
    CHECK(statesOf(process) == before);
}
