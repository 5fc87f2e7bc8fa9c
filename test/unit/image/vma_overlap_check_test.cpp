// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>

#include "criu/image/arena.hpp"
#include "criu/memory/mappings/vma_overlap_check.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "image_fixture.hpp"
#include "images/mm.hpp"

using namespace criu;
using namespace criu::memory;

namespace {

struct Area {
    std::uint64_t start;
    std::uint64_t end;
    bool guard = false;
};

std::string refusalOf(std::initializer_list<Area> areas) {
    Arena arena;
    MmEntry mm = MM_ENTRY__INIT;
    mm.n_vmas = areas.size();
    mm.vmas = arena.messages<VmaEntry>(mm.n_vmas);
    std::size_t at = 0;
    for (const Area& area : areas) {
        VmaEntry& vma = *mm.vmas[at++];
        vma.start = area.start;
        vma.end = area.end;
        vma.status = area.guard ? bit(VmaStatus::Guard) : bit(VmaStatus::Regular);
    }
    return test::errorOf([&] { requireNoVmaOverlap(mm); });
}

}  // namespace

TEST_CASE("mappings of an image lie apart") {
    CHECK(refusalOf({{0x1000, 0x3000}, {0x3000, 0x4000}, {0xffffffffff600000, 0xffffffffff601000}}).empty());
    CHECK(refusalOf({{0x3000, 0x4000}, {0x1000, 0x3000}}).empty());
    CHECK(refusalOf({{0x1000, 0x3000}, {0x2000, 0x3000, true}}).empty());
    CHECK(refusalOf({{0x1000, 0x3000}, {0x2000, 0x5000}}) == "memory at 0x2000 lies within that from 0x1000 to 0x3000");
    CHECK(refusalOf({{0x5000, 0x6000}, {0x1000, 0x7000}}) == "memory at 0x5000 lies within that from 0x1000 to 0x7000");
    CHECK(refusalOf({{0x1000, 0x2000}, {0x1000, 0x2000}}) == "memory at 0x1000 lies within that from 0x1000 to 0x2000");
    CHECK(refusalOf({{0x3000, 0x3000}}) == "memory at 0x3000 ends at 0x3000");
    CHECK(refusalOf({{0x3000, 0x1000}}) == "memory at 0x3000 ends at 0x1000");
}
