// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused process \d+ .*it has as many mappings as a process may have; sysctl vm.max_map_count, which is \d+
#include "zdtm.hpp"

ZDTM("a dump refuses a process that has reached the mapping limit (vm.max_map_count)") {
    constexpr std::size_t page = 4096;
    constexpr std::size_t most = 1U << 17;
    auto* const room = static_cast<std::byte*>(
        SYS(mmap(nullptr, 2 * most * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)));
    for (std::size_t at = 1; mprotect(room + 2 * at * page, page, PROT_READ) == 0; ++at)
        if (at == most - 1)
            zdtm::skip("more mappings are allowed here");
    // Each mprotect(2) above adds two mappings, so room for one may be left. This mapping fills it.
    (void)mmap(nullptr, page, PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    me.wait_for_check();
    CHECK(mprotect(room, 2 * most * page, PROT_NONE) == 0, "%s", strerror(errno));
}
