// SPDX-License-Identifier: GPL-2.0-only
#include "criu/tty/tty_entry.hpp"

#include <sys/sysmacros.h>

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/kernel/device_number.hpp"

using namespace criu;
using namespace criu::tty;

TEST_CASE("terminals are told by their device numbers", "[tty]") {
    CHECK(roleOf(makedev(5, 2)) == Role::PtyMaster);
    CHECK(roleOf(makedev(128, 3)) == Role::PtyMaster);
    CHECK(roleOf(makedev(136, 70000)) == Role::PtySlave);
    CHECK(roleOf(makedev(5, 0)) == Role::Own);
    CHECK(roleOf(makedev(5, 1)) == Role::Console);
    CHECK(roleOf(makedev(4, 1)) == Role::Virtual);
    CHECK(roleOf(makedev(4, 63)) == Role::Virtual);
    CHECK(roleOf(makedev(4, 64)) == Role::Serial);
    CHECK_FALSE(roleOf(makedev(1, 3)));
    CHECK_FALSE(roleOf(makedev(5, 3)));
    CHECK(typeOf(Role::PtyMaster) == TTY_TYPE__PTY);
    CHECK(externalName(makedev(136, 3), 0x16) == "tty[8803:16]");
}

TEST_CASE("the kernel's device numbers are taken apart", "[tty]") {
    CHECK(kernel::decodeDevice(0x8803) == makedev(136, 3));
    CHECK(kernel::decodeDevice(0x88a0 | 1U << 20) == makedev(136, 256 + 0xa0));
    CHECK(kernel::decodeDevice(0) == makedev(0, 0));
    CHECK(kernel::encodeDevice(makedev(136, 256 + 0xa0)) == (0x88a0 | 1U << 20));
    CHECK(kernel::deviceOf(0x800003) == makedev(8, 3));
    CHECK(kernel::kernelForm(makedev(8, 3)) == 0x800003);
}

TEST_CASE("settings of a terminal survive the image, four control characters to a number", "[tty]") {
    kernel::LineSettings settings;
    settings.input = 0x1234;
    settings.local = 0x8a3b;
    settings.outputSpeed = 12345;
    for (std::size_t i = 0; i < settings.characters.size(); ++i)
        settings.characters[i] = static_cast<std::uint8_t>(i + 1);
    Arena arena;
    TermiosEntry* const entry = storeSettings(settings, arena);
    REQUIRE(entry->n_c_cc == 19);
    CHECK(entry->c_cc[0] == 0x04030201);
    CHECK(entry->c_cc[4] == 0x00131211);
    CHECK(entry->c_cc[5] == 0);
    CHECK(loadSettings(*entry) == settings);
    entry->n_c_cc = 18;
    CHECK_THROWS_AS(loadSettings(*entry), Error);
}
