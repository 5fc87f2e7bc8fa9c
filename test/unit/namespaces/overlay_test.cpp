// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "criu/namespaces/mount/mount_tree.hpp"
#include "criu/namespaces/mount/overlay.hpp"
#include "image_fixture.hpp"

using namespace criu;
using namespace criu::namespaces;

namespace {

std::string refusal(std::string_view options) {
    return test::errorOf([&] { static_cast<void>(OverlayOptions::parse(options)); });
}

}  // namespace

TEST_CASE("options of overlays are taken apart in both of their forms") {
    const OverlayOptions old =
        OverlayOptions::parse("lowerdir=/a:/b/c::/d::/e,upperdir=/u,workdir=/w,uuid=on,userxattr");
    const std::vector<OverlayLayer> layers{{"lowerdir+", "/a"}, {"lowerdir+", "/b/c"}, {"datadir+", "/d"},
                                           {"datadir+", "/e"},  {"upperdir", "/u"},    {"workdir", "/w"}};
    CHECK(old.layers == layers);
    CHECK(old.others == "uuid=on,userxattr");
    const OverlayOptions single =
        OverlayOptions::parse("xino=off,lowerdir+=/a,lowerdir+=/b/c,datadir+=/d,datadir+=/e,upperdir=/u,workdir=/w");
    CHECK(single.layers == layers);
    CHECK(single.others == "xino=off");
}

TEST_CASE("an overlay is mounted after the overlays that contain its layers") {
    const auto mountAt = [](int id, std::uint32_t device, const char* at, const char* options) {
        Mount mount;
        mount.id = id;
        mount.device = device;
        mount.mountPoint = at;
        mount.options = options;
        return mount;
    };
    // Ids and the list have the reverse order. /part is a bind mount of a directory of /merged.
    const std::vector<Mount> mounts{mountAt(1, 1, "/", ""), mountAt(2, 4, "/third", "lowerdir=/part/below:/again"),
                                    mountAt(3, 3, "/again", "lowerdir=/merged:/one"),
                                    mountAt(4, 2, "/part", "lowerdir=/one,upperdir=/two,workdir=/work"),
                                    mountAt(5, 2, "/merged", "lowerdir=/one,upperdir=/two,workdir=/work")};
    std::vector<PlannedOverlay> overlays;
    for (const std::size_t at : {1, 2, 4})
        overlays.push_back({&mounts[at], mounts});
    std::vector<int> order;
    for (const PlannedOverlay& each : inOrderOfLayers(overlays))
        order.push_back(each.mount->id);
    CHECK(order == std::vector<int>{5, 3, 2});

    // Each overlay has the one after it as layer. A recursion would exhaust the stack.
    constexpr int kMany = 2000;
    std::vector<Mount> chain;
    for (int i = 0; i < kMany; ++i)
        chain.push_back(mountAt(i, static_cast<std::uint32_t>(i + 1), fmt::format("/{}", i).c_str(),
                                fmt::format("lowerdir=/{}", i + 1).c_str()));
    std::vector<PlannedOverlay> nested;
    for (const Mount& mount : chain)
        nested.push_back({&mount, chain});
    const std::vector<PlannedOverlay> reversed = inOrderOfLayers(nested);
    REQUIRE(reversed.size() == kMany);
    CHECK(reversed.front().mount->id == kMany - 1);
    CHECK(reversed.back().mount->id == 0);

    const std::vector<Mount> circle{mountAt(1, 1, "/a", "lowerdir=/b"), mountAt(2, 2, "/b", "lowerdir=/a")};
    CHECK(inOrderOfLayers({{&circle[0], circle}, {&circle[1], circle}}).size() == 2);
}

TEST_CASE("overlays whose options don't say where their layers are, are refused") {
    CHECK(refusal("lowerdir=/a").empty());
    CHECK_THAT(refusal("lowerdir=a:/b"), Catch::Contains("leads elsewhere"));
    CHECK_THAT(refusal("lowerdir=/a:/"), Catch::Contains("leads elsewhere"));
    CHECK_THAT(refusal("lowerdir=/a,upperdir=,workdir=/w"), Catch::Contains("leads elsewhere"));
    CHECK_THAT(refusal("lowerdir=/a\\:b"), Catch::Contains("can't be told"));
    CHECK_THAT(refusal("index=off"), Catch::Contains("no directories"));
    CHECK_THAT(refusal(""), Catch::Contains("no directories"));
}
