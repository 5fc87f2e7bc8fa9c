// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/scheduling.hpp"

#include <sched.h>

#include <algorithm>

#include <catch2/catch.hpp>

#include "criu/image/record.hpp"
#include "criu/kernel/sched.hpp"
#include "images/core.hpp"

using criu::task::Scheduling;

namespace {

std::vector<std::byte> storedAffinity(std::optional<std::size_t> onlineCpus) {
    criu::Arena arena;
    ThreadCoreEntry core = THREAD_CORE_ENTRY__INIT;
    criu::task::storeScheduling(criu::HostPid(), onlineCpus, criu::task::usualSlice(), core, arena);
    const auto bytes = criu::bytesOf(core.cpu_affinity);
    return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("a thread that may use all processors isn't bound to those of the dump") {
    const std::vector<std::uint64_t> words = criu::kernel::cpuAffinity(0);
    const auto own = std::as_bytes(std::span(words));
    const auto all = storedAffinity(1);
    CHECK(all.size() == own.size());
    CHECK(std::ranges::all_of(all, [](std::byte eight) { return eight == std::byte{0xff}; }));
    for (const std::optional<std::size_t> more : {std::optional<std::size_t>(100000), std::optional<std::size_t>()})
        CHECK(std::ranges::equal(storedAffinity(more), own));
}

TEST_CASE("utilization clamps are usual at the kernel's defaults for the policy, and without clamps") {
    const auto isUsual = [](std::uint32_t policy, std::uint32_t least, std::uint32_t most) {
        Scheduling now;
        now.policy = policy;
        now.utilMin = least;
        now.utilMax = most;
        return now.hasUsualClamps();
    };
    CHECK(isUsual(SCHED_OTHER, 0, 0));
    CHECK(isUsual(SCHED_OTHER, 0, 1024));
    CHECK(isUsual(SCHED_FIFO, 1024, 1024));
    CHECK_FALSE(isUsual(SCHED_OTHER, 1024, 1024));
    CHECK_FALSE(isUsual(SCHED_FIFO, 0, 1024));
    CHECK_FALSE(isUsual(SCHED_OTHER, 0, 512));
}
