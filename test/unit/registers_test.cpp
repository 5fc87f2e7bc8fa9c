// SPDX-License-Identifier: GPL-2.0-only
#include <cpuid.h>
#include <sys/user.h>

#include <cstring>
#include <vector>

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/image/arena.hpp"
#include "criu/task/registers.hpp"

using namespace criu;

namespace {

constexpr std::size_t kUsedComponents = 512;  // the word of the XSAVE header (Intel SDM volume 1, 13.4.2)

/// A thread's register sets with recognisable content, as large as this CPU has them.
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

TEST_CASE("registers come back as they were") {
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
