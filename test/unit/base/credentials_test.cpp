// SPDX-License-Identifier: GPL-2.0-only
#include <linux/securebits.h>

#include <catch2/catch.hpp>

#include <functional>

#include "criu/base/error.hpp"
#include "criu/base/ids.hpp"
#include "criu/kernel/capabilities.hpp"
#include "criu/model/id_map.hpp"
#include "criu/task/attributes.hpp"
#include "criu/task/credentials.hpp"
#include "criu/task/seccomp.hpp"
#include "images/mm.hpp"

using namespace criu;
using namespace criu::task;
using Catch::Matchers::Contains;

namespace {

constexpr std::uint64_t kKnownCapabilities = (std::uint64_t{1} << 41) - 1;

kernel::TaskStatus statusOfUser() {
    kernel::TaskStatus status;
    status.pid = 7;
    status.uid = {1000, 1000, 1000, 1000};
    status.gid = {100, 100, 100, 100};
    status.groups = {20, 30};
    status.capBounding = kKnownCapabilities;
    status.noNewPrivs = false;
    return status;
}

Credentials wanted() {
    Credentials credentials;
    credentials.uid = {1000, 1000, 1000, 1000};
    credentials.gid = {100, 100, 100, 100};
    credentials.groups = {30, 20};
    credentials.bounding = ~std::uint64_t{0};
    return credentials;
}

void require(const std::function<void(kernel::TaskStatus&)>& change, const char* message) {
    kernel::TaskStatus status = statusOfUser();
    change(status);
    CHECK_THROWS_WITH(requireCredentials(wanted(), status, model::IdMap(), kKnownCapabilities), Contains(message));
}

}  // namespace

TEST_CASE("a restored thread must have the credentials of the image") {
    CHECK_NOTHROW(requireCredentials(wanted(), statusOfUser(), model::IdMap(), kKnownCapabilities));
    require([](auto& status) { status.uid.saved = 0; }, "user ids");
    require([](auto& status) { status.uid.filesystem = 0; }, "user ids");
    require([](auto& status) { status.gid.real = 0; }, "group ids");
    require([](auto& status) { status.groups.push_back(0); }, "supplementary groups");
    require([](auto& status) { status.capInheritable = 1; }, "inheritable");
    require([](auto& status) { status.capPermitted = 1; }, "permitted");
    require([](auto& status) { status.capEffective = 1; }, "effective");
    require([](auto& status) { status.capAmbient = 1; }, "ambient");
    require([](auto& status) { status.capBounding = kKnownCapabilities >> 1; }, "bounding");
    require([](auto& status) { status.noNewPrivs = true; }, "no_new_privs");
}

TEST_CASE("credentials are compared as the user namespace of the tree has them") {
    const model::IdMap ids({{0, 100000, 65536}}, {{0, 200000, 65536}});
    kernel::TaskStatus status = statusOfUser();
    status.uid = {101000, 101000, 101000, 101000};
    status.gid = {200100, 200100, 200100, 200100};
    status.groups = {200020, 200030};
    CHECK_NOTHROW(requireCredentials(wanted(), status, ids, kKnownCapabilities));
    status.uid.real = 1000;
    CHECK_THROWS(requireCredentials(wanted(), status, ids, kKnownCapabilities));
}

TEST_CASE("the first process of a user namespace has no secure bits, and all capabilities there") {
    const model::IdMap ids({{0, 100000, 65536}}, {{0, 200000, 65536}});
    const Credentials first = Credentials::ofUsernsRoot(ids, wanted());
    CHECK(first.secureBits == SECUREBITS_DEFAULT);
    CHECK(first.uid == kernel::CredentialIds{0, 0, 0, 0});
    CHECK(first.effective == kernel::knownCapabilities());
}

TEST_CASE("a restored thread must have the seccomp mode and filters of the image") {
    kernel::TaskStatus status = statusOfUser();
    status.seccomp = kernel::SeccompMode::Disabled;
    status.seccompFilters = 0;
    CHECK_NOTHROW(requireSeccomp(nullptr, 0, status));
    std::vector<SeccompPlan> plans(2);
    plans[0].forAll.resize(2);
    plans[1].filters.resize(1);
    CHECK_THROWS_WITH(requireSeccomp(&plans, 1, status), Contains("seccomp mode"));
    status.seccomp = kernel::SeccompMode::Filter;
    status.seccompFilters = 3;
    CHECK_NOTHROW(requireSeccomp(&plans, 1, status));
    CHECK_THROWS_WITH(requireSeccomp(&plans, 0, status), Contains("3 seccomp filters, not 2"));
    CHECK_THROWS_WITH(requireSeccomp(nullptr, 0, status), Contains("seccomp mode"));
}

TEST_CASE("a process is dumpable by its user only in the end of a restore") {
    MmEntry mm = MM_ENTRY__INIT;
    mm.has_dumpable = 1;
    const auto flag = [](int now, int afterChange) {
        Dumpable dumpable;
        dumpable.now = now;
        dumpable.afterChange = afterChange;
        return dumpable;
    };
    mm.dumpable = 1;
    // No change is needed where the flag keeps criu's capabilities.
    CHECK_FALSE(flag(1, 0).needsClearing(mm, false, false));
    CHECK_FALSE(flag(1, 0).needsSetting(mm, false));
    CHECK(flag(0, 0).needsSetting(mm, false));
    for (const int afterChange : {0, 1, 2}) {
        CHECK(flag(1, afterChange).needsClearing(mm, true, true));
        CHECK(flag(1, afterChange).needsClearing(mm, true, false));
        CHECK(flag(1, afterChange).needsSetting(mm, true));
    }
    mm.dumpable = 0;
    CHECK(flag(1, 0).needsClearing(mm, false, false));
    CHECK(flag(1, 2).needsClearing(mm, true, true));
    CHECK_FALSE(flag(1, 0).needsSetting(mm, true));
    // Only the kernel sets 2, when credentials change; PR_SET_DUMPABLE can't.
    mm.dumpable = 2;
    CHECK_FALSE(flag(1, 2).needsClearing(mm, true, true));
    CHECK(flag(1, 2).needsClearing(mm, true, false));
    CHECK(flag(1, 1).needsClearing(mm, true, true));
    CHECK_FALSE(flag(1, 2).needsSetting(mm, true));
}
