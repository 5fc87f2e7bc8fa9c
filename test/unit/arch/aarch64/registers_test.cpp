// SPDX-License-Identifier: GPL-2.0-only
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

/// Register sets of a thread with recognisable content.
struct Thread {
    Thread() {
        for (std::size_t i = 0; i < std::size(registers.x); ++i)
            registers.x[i] = 0x1111111111111111 * (i % 15) + i;
        registers.sp = 0xffffffffe000;
        registers.pc = 0xaaaaaaaa1230;
        registers.pstate = 0x60001000;
        registers.syscall = -1;
        add(compel::FloatingPointSet, 528);
    }

    void add(compel::RegisterSet set, std::size_t size) {
        std::vector<std::byte> content(size);
        for (std::size_t i = 0; i < size; ++i)
            content[i] = static_cast<std::byte>(i * 7 + set);
        if (set == compel::FloatingPointSet)
            std::memset(content.data() + 520, 0, 8);  // reserved words
        compel::addRegisterSet(extended, set, content);
    }
    CoreEntry& store() {
        CoreEntry& core = *arena.make<CoreEntry>();
        task::storeRegisters(std::as_bytes(std::span(&registers, 1)), {}, extended, 0, core, arena);
        return core;
    }

    Arena arena;
    compel::GeneralRegisters registers{};
    std::vector<std::byte> extended;
};

std::vector<std::byte> contentOf(const std::vector<std::byte>& state, compel::RegisterSet set) {
    const auto found = compel::registerSetOf(state, set);
    return {found.begin(), found.end()};
}

}  // namespace

TEST_CASE("registers of all kinds are restored unchanged") {
    Thread thread;
    thread.add(compel::ScalableSet, 16 + 64 * 34);
    thread.add(compel::ThreadPointerSet, 16);
    thread.add(compel::AddressKeysSet, 64);
    thread.add(compel::GenericKeySet, 16);
    thread.add(compel::EnabledKeysSet, 8);
    thread.add(compel::TaggedAddressSet, 8);

    const task::RegisterSets back = task::loadRegisters(thread.store());
    CHECK(std::memcmp(back.general.data(), &thread.registers, sizeof(thread.registers)) == 0);
    for (const auto set :
         {compel::FloatingPointSet, compel::ScalableSet, compel::ThreadPointerSet, compel::AddressKeysSet,
          compel::GenericKeySet, compel::EnabledKeysSet, compel::TaggedAddressSet})
        CHECK(contentOf(back.extended, set) == contentOf(thread.extended, set));
}

TEST_CASE("registers that the processor lacks aren't in the image") {
    Thread thread;
    thread.add(compel::ThreadPointerSet, 8);
    const CoreEntry& core = thread.store();
    CHECK(core.ti_aarch64->pac_keys == nullptr);
    CHECK(core.ti_aarch64->has_sve == 0);
    CHECK(core.ti_aarch64->has_tpidr2 == 0);
    CHECK(core.ti_aarch64->has_tagged_address_ctrl == 0);
    const task::RegisterSets back = task::loadRegisters(core);
    CHECK(contentOf(back.extended, compel::ThreadPointerSet).size() == 8);
    CHECK(contentOf(back.extended, compel::AddressKeysSet).empty());
}

TEST_CASE("images with registers of another form are refused") {
    Thread thread;
    thread.add(compel::ThreadPointerSet, 8);
    CoreEntry& core = thread.store();
    SECTION("of another processor") {
        core.mtype = CORE_ENTRY__MARCH__X86_64;
        CHECK_THROWS_WITH(task::loadRegisters(core), Catch::Contains("another architecture"));
    }
    SECTION("of 32-bit code") {
        core.ti_aarch64->gpregs->pstate |= 0x10;
        CHECK_THROWS_WITH(task::loadRegisters(core), Catch::Contains("AArch32"));
    }
    SECTION("with too few registers") {
        core.ti_aarch64->gpregs->n_regs = 30;
        CHECK_THROWS_WITH(task::loadRegisters(core), Catch::Contains("30 general registers"));
    }
    SECTION("with too few vector registers") {
        core.ti_aarch64->fpsimd->n_vregs = 62;
        CHECK_THROWS_WITH(task::loadRegisters(core), Catch::Contains("62 halves"));
    }
}
