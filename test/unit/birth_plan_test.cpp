// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/birth_plan.hpp"

#include <catch2/catch.hpp>

#include <map>

#include "criu/base/error.hpp"

using criu::model::Birth;
using criu::model::BirthFacts;
using criu::model::BirthPlan;

namespace {

struct Outcome {
    pid_t parent = 0;
    pid_t sid = 0;
};

/// Plays the plan by the kernel's rules and tells where everybody ended up.
class Kernel {
public:
    Kernel(const BirthPlan& plan, pid_t outerSid) : plan_(plan) {
        start(plan.root().pid, 0, outerSid);
        for (const Birth& birth : plan.all())  // helpers that others were adopted from are gone at the end
            if (birth.adopted)
                now_[birth.pid].parent = birth.parent;
    }
    Outcome operator[](pid_t pid) { return now_.at(pid); }
    [[nodiscard]] std::size_t size() const { return now_.size(); }

private:
    void start(pid_t pid, pid_t parent, pid_t sid) {
        REQUIRE_FALSE(now_.contains(pid));
        now_[pid] = {parent, sid};
        const Birth& birth = plan_.of(pid);
        for (const pid_t child : birth.beforeSession)
            clone(pid, child);
        if (birth.leadsSession)
            now_[pid].sid = pid;
        for (const pid_t child : birth.afterSession)
            clone(pid, child);
    }
    void clone(pid_t creator, pid_t child) {
        REQUIRE(plan_.of(child).creator == creator);
        const Outcome who = now_.at(creator);
        start(child, plan_.of(child).viaCloneParent ? who.parent : creator, who.sid);
    }

    const BirthPlan& plan_;
    std::map<pid_t, Outcome> now_;
};

void checkPlan(const std::vector<BirthFacts>& facts, pid_t outerSid, std::size_t helpers) {
    const BirthPlan plan = BirthPlan::make(facts, outerSid);
    Kernel kernel(plan, outerSid);
    CHECK(plan.helpers() == helpers);
    CHECK(kernel.size() == facts.size() + helpers);
    for (const BirthFacts& wanted : facts) {
        INFO("process " << wanted.pid);
        CHECK(kernel[wanted.pid].parent == wanted.ppid);
        CHECK(kernel[wanted.pid].sid == wanted.sid);
    }
}

}  // namespace

TEST_CASE("a shell with a pipeline: everybody in one session") {
    checkPlan({{10, 0, 10, 10}, {11, 10, 11, 10}, {12, 10, 11, 10}, {13, 12, 11, 10}}, 1, 0);
}

TEST_CASE("a tree that is part of the caller's session") {
    checkPlan({{10, 0, 10, 5}, {11, 10, 10, 5}}, 5, 0);
}

TEST_CASE("a root in a foreign session is refused") {
    CHECK_THROWS_AS(BirthPlan::make(std::vector<BirthFacts>{{10, 0, 10, 6}}, 5), criu::Error);
}

TEST_CASE("a child born before its parent's setsid keeps the old session") {
    checkPlan({{10, 0, 10, 10}, {11, 10, 11, 11}, {12, 11, 10, 10}}, 1, 0);
}

TEST_CASE("a session leader is born where its own older children must be") {
    checkPlan({{10, 0, 10, 10}, {11, 10, 11, 11}, {12, 11, 12, 12}, {13, 12, 11, 11}}, 1, 0);
}

TEST_CASE("an orphan whose session leader is gone gets a helper as leader") {
    checkPlan({{10, 0, 10, 10}, {12, 10, 11, 11}, {13, 10, 11, 11}}, 1, 1);
}

TEST_CASE("an adopted orphan is cloned by a sibling that leads its session") {
    checkPlan({{10, 0, 10, 10}, {11, 10, 11, 11}, {12, 10, 11, 11}}, 1, 0);
    checkPlan({{10, 0, 10, 10}, {12, 10, 20, 20}, {20, 10, 20, 20}}, 1, 0);
}

TEST_CASE("an adopted orphan whose leader lives deeper in the tree") {
    checkPlan({{10, 0, 10, 10}, {11, 10, 10, 10}, {12, 11, 12, 12}, {13, 10, 12, 12}}, 1, 1);
}

TEST_CASE("a process group without its leader gets a helper") {
    const std::vector<BirthFacts> facts{{10, 0, 10, 10}, {11, 10, 40, 10}, {12, 10, 40, 10}};
    checkPlan(facts, 1, 1);
    const BirthPlan plan = BirthPlan::make(facts, 1);
    CHECK(plan.of(40).helper);
    CHECK(plan.of(40).pgid == 40);
}
