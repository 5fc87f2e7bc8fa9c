// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also map-pages-again
#include "zdtm.hpp"

ZDTM("reserved mappings of 1 TiB with few used pages take little time and space") {
    const std::size_t size = std::size_t{1} << 40;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    const std::span<std::byte> unreadable = zdtm::map(size, PROT_NONE, flags);
    const std::span<std::byte> memory = zdtm::map(size, PROT_READ | PROT_WRITE, flags);
    const std::size_t step = size / 16;
    const std::size_t used = 3 * zdtm::page_size();
    for (std::size_t at = 0; at < size; at += step) {
        zdtm::fill(memory.subspan(at, used), at);
    }
    me.wait_for_check();

    for (std::size_t at = 0; at < size; at += step) {
        CHECK(zdtm::first_difference(memory.subspan(at, used), at) < 0, "data at %zx changed", at);
        CHECK(memory[at + used] == std::byte{}, "the page behind is not zero");
    }
    SYS(mprotect(unreadable.data(), zdtm::page_size(), PROT_READ | PROT_WRITE));
    CHECK(unreadable[0] == std::byte{}, "the reservation is not zero");
    CHECK(zdtm::has_vm_flag(memory.data(), "nr"), "memory is reserved now");
}
