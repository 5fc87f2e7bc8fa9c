// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/task/cpu_info.hpp"
#include "images/cpuinfo.hpp"

using criu::Arena;
using criu::model::CpuCap;
using criu::model::CpuCaps;
using criu::task::compareCpus;
using criu::task::describeCpu;

TEST_CASE("this processor offers what it offers") {
    Arena arena;
    const CpuinfoEntry& here = *describeCpu(arena);
    REQUIRE(here.n_aarch64_entry == 1);
    CHECK((here.aarch64_entry[0]->hwcap[0] & 3) == 3);
    CHECK_NOTHROW(compareCpus(here, here, {CpuCap::Fpu, CpuCap::Ins, CpuCap::Cpu}));
}

TEST_CASE("instructions and vectors that are missing are named") {
    Arena arena;
    const CpuinfoEntry& there = *describeCpu(arena);
    CpuinfoEntry& here = *describeCpu(arena);
    here.aarch64_entry[0]->hwcap[0] &= ~2ULL;
    CHECK_THROWS_WITH(compareCpus(there, here, {CpuCap::Ins}), Catch::Contains("asimd"));
    CHECK_THROWS_WITH(compareCpus(there, here, {CpuCap::Fpu}), Catch::Contains("asimd"));
    CHECK_THROWS_WITH(compareCpus(here, there, {CpuCap::Cpu}), Catch::Contains("isn't the same"));
    CHECK_NOTHROW(compareCpus(here, there, {CpuCap::Ins, CpuCap::Fpu}));
    CpuinfoEntry& longer = *describeCpu(arena);
    longer.aarch64_entry[0]->has_vector_length = 1;
    longer.aarch64_entry[0]->vector_length = 4096;
    CHECK_THROWS_WITH(compareCpus(longer, there, {CpuCap::Fpu}), Catch::Contains("4096"));
}
