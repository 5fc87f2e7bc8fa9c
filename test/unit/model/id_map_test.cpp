// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/id_map.hpp"

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "image_fixture.hpp"

using criu::Error;
using criu::model::IdExtent;
using criu::model::IdMap;
using criu::model::parseIdMap;

TEST_CASE("id maps are read as the kernel shows them") {
    CHECK(parseIdMap("").empty());
    CHECK(parseIdMap("         0     100000      65536\n     70000          7          1\n") ==
          std::vector<IdExtent>{{0, 100000, 65536}, {70000, 7, 1}});
    CHECK(parseIdMap("0 0 4294967295\n") == std::vector<IdExtent>{{0, 0, 4294967295}});
    CHECK_THROWS_AS(parseIdMap("0 100000\n"), Error);
    CHECK_THROWS_AS(parseIdMap("0 100000 1"), Error);
    CHECK_THROWS_AS(parseIdMap("0 -1 1\n"), Error);
}

TEST_CASE("ids are changed from one side to the other") {
    const IdMap map({{0, 100000, 10}, {1000, 500, 1}}, {{5, 200000, 2}});
    CHECK(map.isOwnNamespace());
    CHECK(map.innerUid(100000) == 0);
    CHECK(map.innerUid(100009) == 9);
    CHECK(map.innerUid(100010) == IdMap::kNone);
    CHECK(map.innerUid(99999) == IdMap::kNone);
    CHECK(map.innerUid(500) == 1000);
    CHECK(map.outerUid(1000) == 500);
    CHECK(map.outerUid(1001) == IdMap::kNone);
    CHECK(map.outerUid(IdMap::kNone) == IdMap::kNone);
    CHECK(map.innerGid(200001) == 6);
    CHECK(map.outerGid(0) == IdMap::kNone);
    CHECK(map.seenUid(0) == IdMap::kOverflow);
    CHECK(map.seenGid(200000) == 5);
    CHECK(map.needInnerUid(100003, "it") == 3);
    CHECK_THROWS_WITH(map.needInnerUid(0, "the real uid of thread 7"),
                      Catch::Contains("the real uid of thread 7 is user 0 outside"));
    CHECK_THROWS_WITH(map.needInnerGid(0, "a group"), Catch::Contains("a group is group 0 outside"));
    CHECK(map.firstUid() == 0);
    CHECK(map.firstGid() == 5);
    CHECK(map.uidText() == "0 100000 10\n1000 500 1\n");
    CHECK(map.gidText() == "5 200000 2\n");
}

TEST_CASE("without a namespace ids are the same on both sides") {
    const IdMap same;
    CHECK_FALSE(same.isOwnNamespace());
    CHECK(same.innerUid(7) == 7);
    CHECK(same.outerGid(4294967295U) == 4294967295U);
    CHECK(same.needInnerUid(123456, "it") == 123456);
    CHECK(same.seenUid(9) == 9);
}

TEST_CASE("a namespace without maps maps no id") {
    const IdMap empty({}, {});
    CHECK(empty.innerUid(0) == IdMap::kNone);
    CHECK(empty.firstUid() == IdMap::kNone);
    CHECK(empty.uidText().empty());
}

TEST_CASE("images keep both maps") {
    const criu::test::TemporaryDir folder;
    const criu::ImageDir images = folder.images();
    IdMap({{0, 100000, 10}, {1000, 500, 1}}, {{5, 200000, 2}}).write(images, 12);
    const IdMap read = IdMap::ofImage(images, 12);
    CHECK(read.isOwnNamespace());
    CHECK(read.uidText() == "0 100000 10\n1000 500 1\n");
    CHECK(read.gidText() == "5 200000 2\n");
    CHECK_THROWS_AS(IdMap::ofImage(images, 13), Error);
    IdMap({{4294967290, 0, 100}}, {}).write(images, 14);
    CHECK_THROWS_WITH(IdMap::ofImage(images, 14), Catch::Contains("can't be"));
}

TEST_CASE("images keep where a user namespace stands") {
    const criu::test::TemporaryDir folder;
    const criu::ImageDir images = folder.images();
    const criu::model::UserNsPosition place{1000, 18, {19, 20}};
    IdMap({{0, 1000, 1}}, {}).write(images, 12, &place);
    const auto read = criu::model::UserNsPosition::ofImage(images, 12);
    REQUIRE(read);
    CHECK(read->owner == 1000);
    CHECK(read->parent == 18);
    CHECK(read->owned == std::vector<std::uint32_t>{19, 20});
    IdMap({{0, 1000, 1}}, {}).write(images, 13);
    CHECK_FALSE(criu::model::UserNsPosition::ofImage(images, 13));
}

TEST_CASE("outer ids of a map can be those of a namespace in between") {
    const IdMap between({{0, 100000, 65536}}, {{0, 200000, 10}, {500, 300000, 10}});
    const IdMap below({{0, 101000, 1}}, {{7, 300003, 2}});
    const IdMap seen = below.seenFrom(between);
    CHECK(seen.uidText() == "0 1000 1\n");
    CHECK(seen.gidText() == "7 503 2\n");
    CHECK(below.seenFrom(IdMap()).uidText() == below.uidText());
    CHECK_THROWS_AS(IdMap({{0, 5, 1}}, {}).seenFrom(between), Error);
}
