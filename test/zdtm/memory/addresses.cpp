// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

ZDTM("mappings at the lowest and the highest address that a program may use") {
    const std::size_t page = zdtm::page_size();
    const auto lowest = std::stoul(zdtm::read_file("/proc/sys/vm/mmap_min_addr"));
    // The kernel doesn't map the last page below 2^47.
    const std::uintptr_t places[] = {lowest < page ? page : lowest, 0x800000000000 - 3 * page, 0x100000000};
    for (const std::uintptr_t place : places) {
        zdtm::fill(zdtm::map(page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0,
                             reinterpret_cast<void*>(place)),
                   place);
    }
    me.wait_for_check();

    for (const std::uintptr_t place : places) {
        const std::span memory(reinterpret_cast<const std::byte*>(place), page);
        CHECK(zdtm::first_difference(memory, place) < 0, "data at %lx changed", place);
    }
}
