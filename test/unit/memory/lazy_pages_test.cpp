// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/lazy/lazy_pages.hpp"

#include <sys/mman.h>

#include <catch2/catch.hpp>

#include "criu/memory/lazy/lazy_areas.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "images/mm.hpp"

namespace criu::memory {
namespace {

constexpr std::uint64_t kPage = 4096;
using Piece = LazyPageMap::Piece;
using RangeState = LazyPageMap::State;

LazyPageMap tenPages() {
    LazyPageMap pages;
    pages.add({0x10000, 10 * kPage, 0x10000});
    return pages;
}

}  // namespace

TEST_CASE("pages that follow each other, with their content, are one piece") {
    LazyPageMap pages;
    pages.add({0x10000, kPage, 0x10000});
    pages.add({0x11000, kPage, 0x11000});
    pages.add({0x12000, kPage, 0x90000});
    const auto first = pages.takeNext(100 * kPage);
    REQUIRE(first);
    CHECK(first->source == 0x10000);
    CHECK(first->bytes == 2 * kPage);
    const auto second = pages.takeNext(100 * kPage);
    REQUIRE(second);
    CHECK(second->source == 0x90000);
    CHECK_FALSE(pages.takeNext(kPage));
    CHECK_FALSE(pages.complete());
}

TEST_CASE("pages that wait can be looked at without being taken") {
    LazyPageMap pages = tenPages();
    pages.forget(0x12000, kPage);
    CHECK(pages.waitingAt(0x11000, 8 * kPage) == Piece{0x11000, kPage, 0x11000});
    CHECK(pages.waitingAt(0x12000, kPage) == std::nullopt);
    CHECK(pages.waitingFrom(0x12000, 2 * kPage) == Piece{0x13000, 2 * kPage, 0x13000});
    CHECK(pages.waitingFrom(0x1a000, kPage) == std::nullopt);
    CHECK(pages.waitingBytes() == 9 * kPage);
}

TEST_CASE("requests continue behind the last wanted page, and wrap around to the beginning") {
    LazyPageMap pages = tenPages();
    const auto wanted = pages.takeAt(0x15123, 2 * kPage);
    REQUIRE(wanted);
    CHECK(wanted->source == 0x15000);
    CHECK(pages.stateOf(0x15000) == RangeState::Coming);
    CHECK(pages.stateOf(0x16fff) == RangeState::Coming);
    CHECK(pages.stateOf(0x17000) == RangeState::Waiting);
    CHECK(pages.stateOf(0x1a000) == RangeState::Unknown);
    CHECK_FALSE(pages.takeAt(0x15000, kPage));
    CHECK(pages.takeNext(100 * kPage)->source == 0x17000);
    CHECK(pages.takeNext(100 * kPage)->source == 0x10000);
    CHECK(pages.waitingBytes() == 0);
}

TEST_CASE("requests are complete when all of their pages have arrived") {
    LazyPageMap pages = tenPages();
    const auto request = pages.takeNext(3 * kPage);
    pages.arrived(request->number, 0x10000, kPage);
    CHECK(pages.placesOf(request->number) == std::vector<Piece>{{0x11000, 2 * kPage, 0x11000}});
    CHECK(pages.stateOf(0x10000) == RangeState::Unknown);
    pages.arrived(request->number, 0x11000, 2 * kPage);
    CHECK(pages.placesOf(request->number).empty());
    pages.close(request->number);
    CHECK_FALSE(pages.complete());
    pages.forget(0, 0x100000);
    CHECK(pages.complete());
}

TEST_CASE("what a process gives up is forgotten, whether it waits or is coming") {
    LazyPageMap pages = tenPages();
    const auto request = pages.takeAt(0x10000, 4 * kPage);
    pages.forget(0x12000, 4 * kPage);
    CHECK(pages.placesOf(request->number) == std::vector<Piece>{{0x10000, 2 * kPage, 0x10000}});
    CHECK(pages.stateOf(0x15000) == RangeState::Unknown);
    CHECK(pages.stateOf(0x16000) == RangeState::Waiting);
    CHECK(pages.waitingBytes() == 4 * kPage);
}

TEST_CASE("moved pages keep their content, and replace earlier pages") {
    LazyPageMap pages = tenPages();
    pages.add({0x50000, 4 * kPage, 0x50000});
    const auto request = pages.takeAt(0x12000, kPage);
    pages.move(0x11000, 0x51000, 3 * kPage);
    CHECK(pages.placesOf(request->number) == std::vector<Piece>{{0x52000, kPage, 0x12000}});
    CHECK(pages.stateOf(0x11000) == RangeState::Unknown);
    CHECK(pages.takeAt(0x51000, kPage)->source == 0x11000);
    CHECK(pages.takeAt(0x53000, 4 * kPage)->source == 0x13000);
    CHECK(pages.takeAt(0x50000, 4 * kPage)->bytes == kPage);
    CHECK(pages.takeAt(0x54000, kPage) == std::nullopt);
}

TEST_CASE("pages may be moved by more than 2 GiB, and a piece may be longer") {
    constexpr std::uint64_t kHuge = std::uint64_t{5} << 30;
    LazyPageMap pages;
    pages.add({0x100000000, kHuge, 0x100000000});
    pages.move(0x100000000, 0x700000000000, kHuge);
    CHECK(pages.waitingBytes() == kHuge);
    const auto last = pages.takeAt(0x700000000000 + kHuge - kPage, kHuge);
    REQUIRE(last);
    CHECK(last->source == 0x100000000 + kHuge - kPage);
    pages.forget(0x700000000000, kHuge);
    CHECK_FALSE(pages.takeNext(kPage));
}

TEST_CASE("a child waits for pages that its parent has ordered") {
    LazyPageMap pages = tenPages();
    const auto request = pages.takeAt(0x12000, 2 * kPage);
    pages.arrived(request->number, 0x12000, kPage);
    LazyPageMap child = pages.fork();
    CHECK(child.waitingBytes() == 9 * kPage);
    CHECK(child.stateOf(0x12000) == RangeState::Unknown);
    CHECK(child.stateOf(0x13000) == RangeState::Waiting);
    pages.forget(0, 0x100000);
    CHECK(child.waitingBytes() == 9 * kPage);
}

TEST_CASE("lazy areas are anonymous private memory without eager memory") {
    VmaEntry heap = VMA_ENTRY__INIT;
    heap.start = 0x10000;
    heap.end = 0x20000;
    heap.status = VmaStatus::Regular | VmaStatus::AnonPrivate;
    heap.flags = MAP_PRIVATE | MAP_ANONYMOUS;
    VmaEntry locked = heap;
    locked.start = 0x20000;
    locked.end = 0x30000;
    locked.flags |= MAP_LOCKED;
    VmaEntry* vmas[] = {&heap, &locked};
    MmEntry mm = MM_ENTRY__INIT;
    mm.n_vmas = 2;
    mm.vmas = vmas;
    mm.mm_arg_start = 0x12008;
    mm.mm_arg_end = 0x12010;
    mm.mm_env_start = mm.mm_env_end = 0x13000;  // empty
    EagerMemory touched(mm);
    touched.addStack(0x1f000);
    touched.addRseq(~std::uint64_t{15}, 32);  // the end wraps around
    const LazyAreas areas(mm, touched);
    CHECK(std::vector(areas.mappings().begin(), areas.mappings().end()) == std::vector<Range>{{0x10000, 0x20000}});

    std::vector<std::pair<Range, bool>> seen;
    PageJob job;
    job.address = 0x11000;
    job.bytes = 0x14000;
    job.state = PageJob::State::Present;
    job.lazyAllowed = true;
    job.position = 0x1000;
    areas.forEach(job, [&](const PageJob& part, bool late) {
        seen.push_back({{part.address, part.end()}, late});
        CHECK(part.position == part.address - 0x10000);
    });
    const std::vector<std::pair<Range, bool>> expected{{{0x11000, 0x12000}, true},
                                                       {{0x12000, 0x13000}, false},
                                                       {{0x13000, 0x1f000}, true},
                                                       {{0x1f000, 0x25000}, false}};
    CHECK(seen == expected);
    job.lazyAllowed = false;
    areas.forEach(job, [](const PageJob&, bool late) { CHECK_FALSE(late); });
}

}  // namespace criu::memory
