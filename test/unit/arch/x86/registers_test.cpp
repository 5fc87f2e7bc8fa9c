// SPDX-License-Identifier: GPL-2.0-only
#include <cpuid.h>
#include <sys/user.h>

#include <compel/registers.hpp>

#include <cstring>
#include <vector>

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/image/arena.hpp"
#include "criu/task/registers.hpp"
#include "images/core.hpp"

using namespace criu;

namespace {

constexpr std::size_t kUsedComponents = 512;  // offset of XSTATE_BV in the XSAVE header (Intel SDM volume 1, 13.4.2)

/// Register sets of a thread with recognisable content, in the sizes of this CPU.
struct Thread {
    Thread() : general(sizeof(user_regs_struct)), extended(sizeOfArea()) {
        for (std::size_t i = 0; i < general.size(); ++i)
            general[i] = static_cast<std::byte>(i);
        regs().orig_rax = static_cast<std::uint64_t>(-1);
    }

    static std::size_t sizeOfArea() {
        unsigned a = 0;
        unsigned b = 0;
        unsigned c = 0;
        unsigned d = 0;
        REQUIRE(__get_cpuid_count(0xd, 0, &a, &b, &c, &d) == 1);
        return b;
    }

    user_regs_struct& regs() { return *reinterpret_cast<user_regs_struct*>(general.data()); }
    void uses(std::uint64_t components) {
        std::memcpy(extended.data() + kUsedComponents, &components, sizeof(components));
    }
    CoreEntry& store() {
        CoreEntry& core = *arena.make<CoreEntry>();
        task::storeRegisters(general, {}, extended, 0, core, arena);
        return core;
    }

    Arena arena;
    std::vector<std::byte> general;
    std::vector<std::byte> extended;
};

std::vector<std::byte> part(const std::vector<std::byte>& area, std::size_t offset, std::size_t size) {
    return {area.begin() + static_cast<std::ptrdiff_t>(offset),
            area.begin() + static_cast<std::ptrdiff_t>(offset + size)};
}

}  // namespace

TEST_CASE("registers are restored unchanged") {
    Thread thread;
    constexpr std::size_t kVectors = 160;  // XMM0 to XMM15 in the legacy area
    for (std::size_t i = 0; i < 256; ++i)
        thread.extended[kVectors + i] = static_cast<std::byte>(i + 1);
    unsigned size = 0;
    unsigned offset = 0;
    unsigned c = 0;
    unsigned d = 0;
    REQUIRE(__get_cpuid_count(0xd, 2, &size, &offset, &c, &d) == 1);
    for (std::size_t i = 0; i < size; ++i)
        thread.extended[offset + i] = static_cast<std::byte>(i * 3 + 1);
    thread.uses(size == 0 ? 3 : 7);

    const task::RegisterSets back = task::loadRegisters(thread.store());
    REQUIRE(back.general == thread.general);
    REQUIRE(part(back.extended, kVectors, 256) == part(thread.extended, kVectors, 256));
    REQUIRE(part(back.extended, offset, size) == part(thread.extended, offset, size));
}

TEST_CASE("registers of a 32-bit thread come back with the bases of its segments") {
    Thread thread;
    thread.uses(3);
    compel::ThreadSegments segments{};
    for (unsigned i = 0; i < segments.size(); ++i) {
        segments[i].entry_number = compel::firstThreadSegment + i;
        segments[i].read_exec_only = 1;
        segments[i].seg_not_present = 1;
    }
    segments[1].base_addr = 0xf7c01000;
    segments[1].limit = 0xfffff;
    segments[1].contents = 1;
    segments[1].seg_32bit = segments[1].limit_in_pages = segments[1].useable = 1;
    segments[1].read_exec_only = segments[1].seg_not_present = 0;
    thread.regs().cs = 0x23;
    thread.regs().ss = thread.regs().ds = thread.regs().es = 0x2b;
    thread.regs().fs = 0;
    thread.regs().gs = 0x6b;
    thread.regs().rax = static_cast<std::uint64_t>(-516);
    thread.regs().orig_rax = 162;
    thread.regs().rip = 0xf7fc4549;

    CoreEntry& core = *thread.arena.make<CoreEntry>();
    const auto bytes = std::as_bytes(std::span(segments));
    task::storeRegisters(thread.general, bytes, thread.extended, 0, core, thread.arena);
    REQUIRE(task::isCompat(core));
    const UserX86RegsEntry& stored = *core.thread_info->gpregs;
    CHECK(stored.ip == 0xf7fc4547);  // the sleep is restarted
    CHECK(stored.ax == 162);
    CHECK(stored.r8 == 0);
    CHECK(stored.gs_base == 0);

    const task::RegisterSets back = task::loadRegisters(core);
    CHECK(std::vector<std::byte>(bytes.begin(), bytes.end()) == back.segments);
    user_regs_struct regs{};
    std::memcpy(&regs, back.general.data(), sizeof(regs));
    CHECK(regs.gs_base == 0xf7c01000);
    CHECK(regs.fs_base == 0);
    CHECK(regs.cs == 0x23);
    CHECK(regs.rbx == (thread.regs().rbx & 0xffffffff));

    core.thread_info->tls[0]->entry_number = 6;
    REQUIRE_THROWS_WITH(task::loadRegisters(core), Catch::Contains("number 6"));
}

TEST_CASE("a 32-bit thread with a segment of its process' own is refused") {
    Thread thread;
    thread.uses(3);
    thread.regs().cs = 0x23;
    thread.regs().ss = thread.regs().ds = thread.regs().es = 0x2b;
    thread.regs().fs = 0x7;
    thread.regs().gs = 0;
    const compel::ThreadSegments segments{};
    CoreEntry& core = *thread.arena.make<CoreEntry>();
    REQUIRE_THROWS_WITH(task::storeRegisters(thread.general, std::as_bytes(std::span(segments)), thread.extended, 0,
                                             core, thread.arena),
                        Catch::Contains("modify_ldt"));
}

TEST_CASE("CPU state of unknown place is refused, not lost") {
    Thread thread;
    thread.uses(std::uint64_t{1} << 62 | 3);
    REQUIRE_THROWS_WITH(thread.store(), Catch::Contains("extended CPU state 62"));
}

TEST_CASE("an image whose CPU state isn't all there is refused") {
    Thread thread;
    thread.uses(3);
    CoreEntry& core = thread.store();
    UserX86XsaveEntry& xsave = *core.thread_info->fpregs->xsave;

    SECTION("said to be in use, but missing") {
        xsave.xstate_bv |= std::uint64_t{1} << 18;
        REQUIRE_THROWS_WITH(task::loadRegisters(core), Catch::Contains("lacks"));
    }
    SECTION("there, but of no use to this CPU") {
        xsave.other = thread.arena.messages<UserX86ComponentEntry>(1);
        xsave.n_other = 1;
        xsave.other[0]->number = GENERATE(62U, 64U, 1000U);
        REQUIRE_THROWS_WITH(task::loadRegisters(core), Catch::Contains("this CPU doesn't offer"));
    }
}
