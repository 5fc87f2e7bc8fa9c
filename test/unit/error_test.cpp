// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/error.hpp"

#include <catch2/catch.hpp>

TEST_CASE("an error's text holds contexts outermost first, then errno's meaning, then the hint") {
    criu::Error error(EACCES, "open /dev/kfd");
    error.addContext("fd 3").addContext("pid 7").addHint("add the user to group render");
    CHECK(std::string(error.what()) == "pid 7: fd 3: open /dev/kfd: Permission denied (add the user to group render)");
    CHECK(criu::sourceName(error.where()) == "test/unit/error_test.cpp");
}

TEST_CASE("sys passes good results through and throws errno for bad ones") {
    CHECK(criu::sys(5, "never") == 5);
    errno = ENOENT;
    try {
        criu::sys(-1, "open {}", "/x");
        FAIL("no exception");
    } catch (const criu::Error& error) {
        CHECK(error.code() == ENOENT);
        CHECK(std::string(error.what()) == "open /x: No such file or directory");
    }
}
