// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

ZDTM("locked memory stays locked, and other memory isn't locked") {
    const std::size_t size = 8 * zdtm::page_size();
    const std::span<std::byte> locked = zdtm::map(size);
    const std::span<std::byte> free = zdtm::map(size);
    SYS(mlock(locked.data(), size));
    zdtm::fill(locked, 1);
    zdtm::fill(free, 2);
    const std::string before = zdtm::status_field("/proc/self/status", "VmLck");
    me.wait_for_check();

    CHECK(zdtm::first_difference(locked, 1) < 0, "locked data changed");
    CHECK(zdtm::first_difference(free, 2) < 0, "other data changed");
    CHECK(zdtm::has_vm_flag(locked.data(), "lo"), "not locked any more");
    CHECK(!zdtm::has_vm_flag(free.data(), "lo"), "locked, but was not");
    const std::string after = zdtm::status_field("/proc/self/status", "VmLck");
    CHECK(before == after, "VmLck was %s, is %s", before.c_str(), after.c_str());
}
