// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/birth_shares.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

namespace criu::model {
namespace {

std::vector<TreePid> pidsUntil(pid_t last) {
    std::vector<TreePid> pids;
    for (pid_t pid = 2; pid <= last; ++pid)
        pids.emplace_back(pid);
    return pids;
}

std::vector<TreePid> allOf(const BirthShares& births) {
    std::vector<TreePid> all = births.single;
    for (const auto& share : births.shares)
        all.insert(all.end(), share.begin(), share.end());
    std::sort(all.begin(), all.end());
    return all;
}

bool isEven(TreePid pid) {
    return pid.value % 2 == 0;
}

}  // namespace

TEST_CASE("many plain children are divided into a share for each core") {
    const std::vector<TreePid> children = pidsUntil(61);
    const BirthShares births = divideBirths(children, 4, [](TreePid) { return true; });
    CHECK(births.single.empty());
    REQUIRE(births.shares.size() == 4);
    for (const auto& share : births.shares)
        CHECK(share.size() == 15);
    CHECK(allOf(births) == children);
}

TEST_CASE("a share has at least five children") {
    const std::vector<TreePid> children = pidsUntil(15);  // 14 children
    const BirthShares births = divideBirths(children, 16, [](TreePid) { return true; });
    REQUIRE(births.shares.size() == 2);
    CHECK(births.shares[0].size() == 7);
    CHECK(births.shares[1].size() == 7);
}

TEST_CASE("children that aren't plain are created by their parent, in their order") {
    const std::vector<TreePid> children = pidsUntil(41);
    const BirthShares births = divideBirths(children, 3, isEven);
    CHECK(births.single.size() == 20);
    CHECK(std::none_of(births.single.begin(), births.single.end(), isEven));
    CHECK(std::is_sorted(births.single.begin(), births.single.end()));
    CHECK(births.shares.size() == 3);
    CHECK(allOf(births) == children);
}

TEST_CASE("a parent with few plain children, or on one core, creates all of them in their order") {
    const std::vector<TreePid> children = pidsUntil(13);
    for (const BirthShares& births : {divideBirths(children, 1, [](TreePid) { return true; }),
                                      divideBirths(children, 8, isEven), divideBirths({}, 8, isEven)})
        CHECK(births.shares.empty());
    CHECK(divideBirths(children, 8, isEven).single == children);
}

}  // namespace criu::model
