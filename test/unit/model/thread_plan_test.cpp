// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/thread_plan.hpp"

#include <catch2/catch.hpp>

#include <map>

#include "criu/base/error.hpp"

namespace criu::model {
namespace {

/// Executes a plan. Returns the objects that the threads have then. New objects get the ids of the wanted ones.
std::vector<ThreadObjects> carryOut(const std::vector<ThreadObjects>& wanted) {
    std::vector<ThreadObjects> got(wanted.size());
    std::vector<bool> born(wanted.size());
    born[0] = true;
    std::map<std::uint32_t, int> fsBegun{{0, 1}};
    std::map<std::uint32_t, int> sysvsemBegun{{0, 1}};
    for (const ThreadBirth& birth : planThreads(wanted)) {
        REQUIRE(born.at(birth.creator));
        REQUIRE_FALSE(born.at(birth.thread));
        born[birth.thread] = true;
        got[birth.thread] = got[birth.creator];
        if (birth.unsharesFs) {
            got[birth.thread].fs = wanted[birth.thread].fs;
            REQUIRE(++fsBegun[wanted[birth.thread].fs] == 1);
        }
        if (birth.unsharesSysvsem) {
            got[birth.thread].sysvsem = wanted[birth.thread].sysvsem;
            REQUIRE(++sysvsemBegun[wanted[birth.thread].sysvsem] == 1);
        }
    }
    REQUIRE(std::count(born.begin(), born.end(), false) == 0);
    return got;
}

void requirePossible(const std::vector<ThreadObjects>& wanted) {
    CHECK(carryOut(wanted) == wanted);
}

}  // namespace

TEST_CASE("threads that share everything are all born of the leader") {
    const std::vector<ThreadObjects> threads(4);
    const std::vector<ThreadBirth> births = planThreads(threads);
    REQUIRE(births.size() == 3);
    for (const ThreadBirth& birth : births)
        CHECK((birth.creator == 0 && !birth.unsharesFs && !birth.unsharesSysvsem));
    CHECK(planThreads(std::vector<ThreadObjects>(1)).empty());
}

TEST_CASE("threads share objects with each other and not with the leader") {
    requirePossible({{0, 0}, {1, 0}, {0, 0}, {1, 0}, {2, 0}, {2, 0}});
    requirePossible({{0, 0}, {2, 0}, {1, 0}, {1, 0}, {0, 3}, {0, 3}});
    requirePossible({{0, 0}, {0, 1}, {0, 1}, {0, 2}});
    requirePossible({{0, 0}, {1, 1}, {2, 2}, {1, 1}});
    // In any order: the second and the third thread each share one object with the last.
    requirePossible({{0, 0}, {1, 1}, {2, 2}, {1, 2}});
    requirePossible({{0, 0}, {1, 2}, {1, 1}, {2, 2}, {3, 2}});
}

TEST_CASE("threads that share objects crosswise are refused") {
    CHECK_THROWS_AS(planThreads(std::vector<ThreadObjects>{{0, 0}, {1, 0}, {0, 1}, {1, 1}}), Error);
    CHECK_THROWS_AS(planThreads(std::vector<ThreadObjects>{{0, 0}, {1, 1}, {1, 2}, {2, 2}, {2, 1}}), Error);
}

TEST_CASE("the births of very many threads with objects of their own are planned in a moment") {
    std::vector<ThreadObjects> threads;
    for (std::uint32_t i = 0; i < 100'000; ++i)
        threads.push_back({i, 0});
    CHECK(planThreads(threads).size() == threads.size() - 1);
}

}  // namespace criu::model
