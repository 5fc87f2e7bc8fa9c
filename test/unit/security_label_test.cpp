// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/security_label.hpp"

#include <catch2/catch.hpp>

#include "images/creds.hpp"

using namespace criu;

TEST_CASE("an image's security label must be criu's own") {
    CredsEntry creds = CREDS_ENTRY__INIT;
    task::requireLabel(creds, std::nullopt);
    task::requireLabel(creds, "unconfined");
    char profile[] = "web-server";
    creds.lsm_profile = profile;
    task::requireLabel(creds, "web-server");
    task::requireLabel(creds, "web-server (enforce)");
    CHECK_THROWS_WITH(task::requireLabel(creds, "unconfined"), Catch::Contains("confined as 'web-server'"));
    CHECK_THROWS_WITH(task::requireLabel(creds, std::nullopt), Catch::Contains("criu is 'nothing'"));
}

TEST_CASE("a process with criu's own label isn't refused") {
    const kernel::ProcPid self = kernel::ProcDir().self();
    const auto own = task::securityLabel(self);
    if (!own) {
        WARN("skipped: no security module is active");
        return;
    }
    task::refuseOtherLabel(self, *own);
    CHECK_THROWS_WITH(task::refuseOtherLabel(self, "another"), Catch::Contains("confined as"));
}
