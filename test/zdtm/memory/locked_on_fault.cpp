// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 its images say only that the mapping is locked; all of it is then
#include "zdtm.hpp"

ZDTM("memory with MLOCK_ONFAULT") {
    const std::size_t size = 8 * zdtm::page_size();
    const std::span<std::byte> memory = zdtm::map(2 * size);
    SYS(mlock2(memory.data(), 2 * size, MLOCK_ONFAULT));
    zdtm::fill(memory.first(size), 1);
    me.wait_for_check();

    CHECK(zdtm::first_difference(memory.first(size), 1) < 0, "the data changed");
    CHECK(zdtm::has_vm_flag(memory.data(), "lo") && zdtm::has_vm_flag(memory.data(), "lf"), "flags: %s",
          zdtm::smaps_field(memory.data(), "VmFlags").c_str());
    unsigned char resident[16] = {};
    SYS(mincore(memory.data(), 2 * size, resident));
    CHECK((resident[8] & 1) == 0, "untouched memory is resident");
}
