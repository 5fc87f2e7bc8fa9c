// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

namespace {
// Uses about `pages` pages of stack and checks their content.
[[gnu::noinline]] unsigned descend(unsigned pages) {
    volatile unsigned char frame[4096];
    frame[0] = static_cast<unsigned char>(pages);
    frame[sizeof frame - 1] = 1;
    const unsigned below = pages == 0 ? 0 : descend(pages - 1);
    return below + frame[sizeof frame - 1] + (frame[0] == static_cast<unsigned char>(pages) ? 0U : 1000000U);
}
}  // namespace

ZDTM("the main stack and a MAP_GROWSDOWN mapping keep their data and can still grow") {
    const std::size_t page = zdtm::page_size();
    // Maps and unmaps a larger range first, so the addresses below the mapping are free for growth.
    const std::span<std::byte> room = zdtm::map(512 * page, PROT_NONE);
    SYS(munmap(room.data(), room.size()));
    const std::span<std::byte> growing =
        zdtm::map(4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED_NOREPLACE,
                  -1, 0, &room[400 * page]);
    zdtm::fill(growing, 1);
    CHECK(descend(16) == 17, "the stack is broken from the start");
    me.wait_for_check();

    CHECK(descend(800) == 801, "the stack lost data");
    CHECK(zdtm::first_difference(growing, 1) < 0, "the growing mapping's data changed");
    for (std::size_t i = 1; i <= 20; ++i) {
        *(growing.data() - i * page) = std::byte{3};
    }
    CHECK(zdtm::first_difference(growing, 1) < 0, "the growing mapping's data changed");
    CHECK(zdtm::has_vm_flag(growing.data(), "gd"), "the mapping does not grow down any more");
}
