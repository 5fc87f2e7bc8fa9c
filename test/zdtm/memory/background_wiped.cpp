// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, background
#include <sys/mman.h>

#include "zdtm.hpp"

ZDTM("content that a clone of a large process wouldn't have (MADV_WIPEONFORK)") {
    constexpr std::size_t kMuch = std::size_t{40} << 20;
    const std::span<std::byte> memory = zdtm::map(kMuch);
    zdtm::fill(memory, 1);
    const std::size_t size = 16 * zdtm::page_size();
    const std::span<std::byte> wiped = zdtm::map(size);
    SYS(madvise(wiped.data(), size, MADV_WIPEONFORK));
    // only the last page has content
    const std::span<std::byte> last = wiped.last(zdtm::page_size());
    zdtm::fill(last, 2);
    me.wait_for_check();

    CHECK(zdtm::first_difference(memory, 1) < 0, "the data changed");
    CHECK(zdtm::first_difference(last, 2) < 0, "data in the wiped area changed");
    CHECK(zdtm::has_vm_flag(wiped.data(), "wf"), "MADV_WIPEONFORK is lost");
}
