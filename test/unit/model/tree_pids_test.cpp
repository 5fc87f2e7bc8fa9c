// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/tree_pids.hpp"

#include <catch2/catch.hpp>

using namespace criu;
using model::TreePids;

TEST_CASE("a tree in criu's pid namespace has the numbers that criu sees") {
    TreePids pids;
    CHECK(pids.inside(HostPid(700)) == TreePid(700));
    pids.add(HostPid(700), TreePid(700));
    CHECK(pids.inside(HostPid(700)) == TreePid(700));
    CHECK(pids.inside(HostPid()) == TreePid());
}

TEST_CASE("a tree in a private pid namespace has inner pids, and none for other processes") {
    TreePids pids = TreePids::ofOwnNamespace();
    pids.add(HostPid(700), TreePid(1));
    pids.add(HostPid(702), TreePid(3));
    CHECK(pids.inside(HostPid(700)) == TreePid(1));
    CHECK(pids.inside(HostPid(702)) == TreePid(3));
    CHECK(pids.inside(HostPid(701)) == TreePid());
    CHECK(pids.inside(HostPid(1)) == TreePid());
    CHECK(pids.inside(HostPid(-1)) == TreePid());
    CHECK(pids.has(TreePid(3)));
    CHECK_FALSE(pids.has(TreePid(702)));
}

TEST_CASE("who isn't seen on one of the sides has no number") {
    TreePids pids = TreePids::ofOwnNamespace();
    pids.add(HostPid(), TreePid(5));
    pids.add(HostPid(9), TreePid());
    CHECK(pids.inside(HostPid()) == TreePid());
    CHECK(pids.inside(HostPid(9)) == TreePid());
}
