// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, lazy-pages, remote-lazy-pages, stored-lazy-pages
// zdtm: own-pids yes
#include <sys/mman.h>

#include "zdtm.hpp"

ZDTM("a process whose memory is all locked has no lazy pages") {
    SYS(mlockall(MCL_CURRENT | MCL_FUTURE));
    const std::span<std::byte> memory = zdtm::map(64 * zdtm::page_size());
    zdtm::fill(memory, 1);
    me.wait_for_check();
    CHECK(zdtm::first_difference(memory, 1) < 0, "the memory changed");
}
