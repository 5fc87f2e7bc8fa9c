// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, background
#include <sys/mman.h>

#include "zdtm.hpp"

ZDTM("content that a clone of a large process wouldn't have (MADV_DONTFORK)") {
    constexpr std::size_t kMuch = std::size_t{40} << 20;
    const std::span<std::byte> memory = zdtm::map(kMuch);
    zdtm::fill(memory, 1);
    const std::size_t size = 16 * zdtm::page_size();
    const std::span<std::byte> omitted = zdtm::map(size);
    SYS(madvise(omitted.data(), size, MADV_DONTFORK));
    // only the last page has content
    const std::span<std::byte> last = omitted.last(zdtm::page_size());
    zdtm::fill(last, 2);
    me.wait_for_check();

    CHECK(zdtm::first_difference(memory, 1) < 0, "the data changed");
    CHECK(zdtm::first_difference(last, 2) < 0, "data in the area changed");
    CHECK(zdtm::has_vm_flag(omitted.data(), "dc"), "MADV_DONTFORK is lost");
}
