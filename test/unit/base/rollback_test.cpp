// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>

#include <memory>
#include <string>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/rollback.hpp"

using criu::engine::Rollback;
using criu::engine::RollbackStep;

TEST_CASE("a rollback runs the latest steps first, continues after failures, and omits removed steps") {
    criu::Log log;
    Rollback rollback;
    std::string done;
    const RollbackStep first(rollback, [&done] { done += "first "; });
    auto gone = std::make_unique<RollbackStep>(rollback, [&done] { done += "gone "; });
    const RollbackStep failing(rollback, [] { criu::fail("not this one"); });
    const RollbackStep last(rollback, [&done] { done += "last "; });
    gone.reset();
    rollback.run(log);
    CHECK(done == "last first ");
}
