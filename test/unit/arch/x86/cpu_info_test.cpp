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

namespace {

constexpr CpuCaps kEverything{CpuCap::Fpu, CpuCap::Ins, CpuCap::Cpu};

CpuinfoX86Entry& entryOf(CpuinfoEntry& all) {
    return *all.x86_entry[0];
}

}  // namespace

TEST_CASE("this processor offers what it offers") {
    Arena arena;
    const CpuinfoEntry& here = *describeCpu(arena);
    REQUIRE(here.n_x86_entry == 1);
    CHECK(here.x86_entry[0]->n_capability == 19);
    // Every 64-bit processor has SSE2.
    CHECK((here.x86_entry[0]->capability[0] >> 26 & 1) == 1);
    CHECK((here.x86_entry[0]->xfeatures_mask & 1) == 1);
    CHECK_NOTHROW(compareCpus(here, here, kEverything));
}

TEST_CASE("instructions that are missing are named") {
    Arena arena;
    const CpuinfoEntry& there = *describeCpu(arena);
    CpuinfoEntry& here = *describeCpu(arena);
    entryOf(here).capability[0] &= ~(1U << 26);
    CHECK_THROWS_WITH(compareCpus(there, here, {CpuCap::Ins}), Catch::Contains("sse2"));
    CHECK_NOTHROW(compareCpus(there, here, {CpuCap::Fpu}));
    // More features than at the dump are accepted, unless all must be equal.
    CHECK_NOTHROW(compareCpus(here, there, {CpuCap::Ins, CpuCap::Fpu}));
    CHECK_THROWS_WITH(compareCpus(here, there, {CpuCap::Cpu}), Catch::Contains("isn't the same"));
}

TEST_CASE("extended state has to fit") {
    Arena arena;
    CpuinfoEntry& there = *describeCpu(arena);
    const CpuinfoEntry& here = *describeCpu(arena);
    entryOf(there).xsave_size += 64;
    CHECK_THROWS_WITH(compareCpus(there, here, {CpuCap::Fpu}), Catch::Contains("bytes"));
    entryOf(there).xfeatures_mask |= 1ULL << 60;
    CHECK_THROWS_WITH(compareCpus(there, here, {CpuCap::Fpu}), Catch::Contains("0x1000000000000000"));
    CHECK_NOTHROW(compareCpus(there, here, {CpuCap::Ins}));
    entryOf(there).has_xsave_size = entryOf(there).has_xfeatures_mask = 0;
    CHECK_NOTHROW(compareCpus(there, here, {CpuCap::Fpu}));
}

TEST_CASE("old descriptions of processors have fewer words") {
    Arena arena;
    CpuinfoEntry& there = *describeCpu(arena);
    const CpuinfoEntry& here = *describeCpu(arena);
    entryOf(there).capability_ver = 1;
    CHECK_THROWS_WITH(compareCpus(there, here, {CpuCap::Ins}), Catch::Contains("19 words"));
    entryOf(there).n_capability = 12;
    CHECK_NOTHROW(compareCpus(there, here, kEverything));
    entryOf(there).capability_ver = 3;
    CHECK_THROWS_WITH(compareCpus(there, here, {CpuCap::Ins}), Catch::Contains("unknown"));
    entryOf(there).vendor_id = CPUINFO_X86_ENTRY__VENDOR__UNKNOWN;
    CHECK_THROWS_WITH(compareCpus(there, here, {CpuCap::Ins}), Catch::Contains("vendor"));
    there.n_x86_entry = 0;
    CHECK_THROWS_WITH(compareCpus(there, here, {CpuCap::Ins}), Catch::Contains("architecture"));
}
