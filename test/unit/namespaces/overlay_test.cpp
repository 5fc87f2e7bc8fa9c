// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>

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

TEST_CASE("overlays whose options don't say where their layers are, are refused") {
    CHECK(refusal("lowerdir=/a").empty());
    CHECK_THAT(refusal("lowerdir=a:/b"), Catch::Contains("leads elsewhere"));
    CHECK_THAT(refusal("lowerdir=/a:/"), Catch::Contains("leads elsewhere"));
    CHECK_THAT(refusal("lowerdir=/a,upperdir=,workdir=/w"), Catch::Contains("leads elsewhere"));
    CHECK_THAT(refusal("lowerdir=/a\\:b"), Catch::Contains("can't be told"));
    CHECK_THAT(refusal("index=off"), Catch::Contains("no directories"));
    CHECK_THAT(refusal(""), Catch::Contains("no directories"));
}
