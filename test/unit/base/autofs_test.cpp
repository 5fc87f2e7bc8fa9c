// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/kernel/autofs.hpp"

using namespace criu::kernel;

TEST_CASE("options of an autofs as mountinfo shows them") {
    const AutofsOptions seen = parseAutofsOptions(
        "fd=9,pgrp=83,timeout=300,minproto=5,maxproto=5,indirect,uid=7,gid=8,strictexpire,ignore,pipe_ino=353394");
    CHECK(seen.pipe == 9);
    CHECK(seen.group == 83);
    CHECK(seen.timeout == 300);
    CHECK((seen.minProtocol == 5 && seen.maxProtocol == 5));
    CHECK(seen.type == AutofsType::Indirect);
    CHECK((seen.user == 7U && seen.owningGroup == 8U));
    CHECK((seen.strictExpire && seen.ignored));
    CHECK(seen.pipeInode == 353394U);
}

TEST_CASE("an autofs without a daemon has no pipe") {
    const AutofsOptions seen = parseAutofsOptions("fd=-1,pgrp=85,timeout=0,minproto=5,maxproto=5,offset,pipe_ino=-1");
    CHECK(seen.pipe == -1);
    CHECK(seen.type == AutofsType::Offset);
    CHECK_FALSE(seen.pipeInode);
    CHECK_FALSE(seen.user);
}

TEST_CASE("options of an autofs that aren't known are refused") {
    for (const char* const text : {"fd=9,direct,other", "fd=9,other=1", "fd=", "fd=x", "pgrp=1x", ",", "timeout=-1"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parseAutofsOptions(text), criu::Error);
    }
}
