// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/nested_pids.hpp"

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/model/birth_plan.hpp"

using criu::TreePid;
using criu::model::BirthFacts;
using criu::model::BirthPlan;
using criu::model::NestedPids;

namespace {

constexpr TreePid kRootPid(100);
constexpr TreePid kParentPid(101);
constexpr TreePid kFirst(102);
constexpr TreePid kChild(103);
constexpr TreePid kInner(104);

/// Returns a namespace with two processes, and one below it with one.
NestedPids twoLevels() {
    NestedPids pids;
    NestedPids::Space& outer = pids.add(7, nullptr);
    NestedPids::Space& inner = pids.add(8, &outer);
    pids.note(outer, kFirst, 1);
    pids.note(outer, kChild, 2);
    pids.note(inner, kInner, 1);
    pids.note(outer, kInner, 3);
    return pids;
}

/// Returns a plan with one session. The groups of kParentPid and kFirst are given; all others are in the group of
/// kFirst.
BirthPlan planWith(TreePid ofParent, TreePid ofFirst) {
    const std::vector<BirthFacts> facts = {{kRootPid, TreePid(), kRootPid, kRootPid},
                                           {kParentPid, kRootPid, ofParent, kRootPid},
                                           {kFirst, kParentPid, ofFirst, kRootPid},
                                           {kChild, kFirst, ofFirst, kRootPid},
                                           {kInner, kFirst, ofFirst, kRootPid}};
    return BirthPlan::make(facts, TreePid(1));
}

}  // namespace

TEST_CASE("processes are in the deepest pid namespace that sees them", "[nested_pids]") {
    const NestedPids pids = twoLevels();
    CHECK(pids.of(kRootPid) == nullptr);
    CHECK(pids.of(kChild) == pids.find(7));
    CHECK(pids.of(kInner) == pids.find(8));
    CHECK(pids.find(8)->depth == 2);
    CHECK(pids.isFirst(kFirst));
    CHECK(pids.isFirst(kInner));
    CHECK_FALSE(pids.isFirst(kChild));
    CHECK_FALSE(pids.isFirst(kRootPid));
    CHECK(NestedPids::firstOf(*pids.find(7)) == kFirst);
}

TEST_CASE("numbers are those of each level, the own one first", "[nested_pids]") {
    const NestedPids pids = twoLevels();
    CHECK(pids.numbersOf(kRootPid) == std::vector<pid_t>{100});
    CHECK(pids.numbersOf(kChild) == std::vector<pid_t>{2, 103});
    CHECK(pids.numbersOf(kInner) == std::vector<pid_t>{1, 3, 104});
    CHECK(NestedPids::numberIn(nullptr, kInner) == 104);
    CHECK(NestedPids::numberIn(pids.find(7), kInner) == 3);
    CHECK(NestedPids::numberIn(pids.find(8), kChild) == 0);
    CHECK(NestedPids::numberIn(pids.find(7), kRootPid) == 0);
}

TEST_CASE("a process can't have two numbers in one pid namespace", "[nested_pids]") {
    NestedPids pids = twoLevels();
    CHECK_NOTHROW(pids.note(*pids.find(7), kChild, 2));
    CHECK_THROWS_AS(pids.note(*pids.find(7), kChild, 5), criu::Error);
}

TEST_CASE("a group that a pid namespace doesn't see has to be that of who creates its first process", "[nested_pids]") {
    const NestedPids pids = twoLevels();
    CHECK_NOTHROW(pids.require(planWith(kRootPid, kRootPid)));
    CHECK_NOTHROW(pids.require(planWith(kParentPid, kParentPid)));
    CHECK_NOTHROW(pids.require(planWith(kRootPid, kFirst)));
    CHECK_THROWS_AS(pids.require(planWith(kParentPid, kRootPid)), criu::Error);
}

TEST_CASE("the first process of a pid namespace is created from the one above", "[nested_pids]") {
    NestedPids pids;
    NestedPids::Space& space = pids.add(7, nullptr);
    pids.note(space, kFirst, 1);
    pids.note(space, kParentPid, 2);
    CHECK_THROWS_AS(pids.require(planWith(kRootPid, kRootPid)), criu::Error);
}

TEST_CASE("processes are put into pid namespaces below, not into others", "[nested_pids]") {
    constexpr TreePid kOther(105);
    const auto facts = [&](TreePid parent) {
        const std::vector<BirthFacts> all = {{kRootPid, TreePid(), kRootPid, kRootPid},
                                             {kParentPid, kRootPid, kRootPid, kRootPid},
                                             {kFirst, kParentPid, kRootPid, kRootPid},
                                             {kOther, kRootPid, kRootPid, kRootPid},
                                             {kChild, parent, kRootPid, kRootPid}};
        return BirthPlan::make(all, TreePid(1));
    };
    NestedPids pids;
    NestedPids::Space& space = pids.add(7, nullptr);
    pids.note(space, kFirst, 1);
    pids.note(space, kChild, 2);
    const BirthPlan above = facts(kRootPid);
    CHECK_NOTHROW(pids.require(above));
    CHECK(pids.isPutInside(above, above.of(kChild)));
    CHECK_FALSE(pids.isPutInside(above, above.of(kFirst)));
    CHECK_FALSE(pids.isPutInside(above, above.of(kParentPid)));
    const BirthPlan below = facts(kFirst);
    CHECK_NOTHROW(pids.require(below));
    CHECK_FALSE(pids.isPutInside(below, below.of(kChild)));
    NestedPids::Space& beside = pids.add(8, nullptr);
    pids.note(beside, kOther, 1);
    CHECK_THROWS_AS(pids.require(facts(kOther)), criu::Error);
}

TEST_CASE("a pid namespace has a first process", "[nested_pids]") {
    constexpr TreePid kGroup(105);
    const std::vector<BirthFacts> facts = {{kRootPid, TreePid(), kRootPid, kRootPid},
                                           {kChild, kRootPid, kRootPid, kRootPid}};
    const BirthPlan plan = BirthPlan::make(facts, TreePid(1));
    NestedPids pids;
    NestedPids::Space& space = pids.add(7, nullptr);
    pids.note(space, kChild, 2);
    CHECK_THROWS_AS(pids.require(plan), criu::Error);
    pids.note(space, kGroup, 1);
    CHECK_THROWS_AS(pids.require(plan), criu::Error);
}
