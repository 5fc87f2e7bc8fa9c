// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "zdtm.hpp"

// From linux/mman.h of Linux 6.13; glibc 2.36 lacks it.
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif

ZDTM("guard regions (MADV_GUARD_INSTALL) inside a mapping") {
    const std::size_t page = zdtm::page_size();
    const std::span<std::byte> memory = zdtm::map(16 * page);
    zdtm::fill(memory, 1);
    if (madvise(&memory[4 * page], 2 * page, MADV_GUARD_INSTALL) != 0) {
        CHECK(errno == EINVAL, "%s", strerror(errno));
        zdtm::skip("the kernel has no MADV_GUARD_INSTALL (6.13)");
    }
    me.wait_for_check();

    int ends[2];
    SYS(pipe(ends));
    CHECK(write(ends[1], &memory[4 * page], 1) == -1 && errno == EFAULT, "the first guard page can be read");
    CHECK(write(ends[1], &memory[5 * page], 1) == -1 && errno == EFAULT, "the last guard page can be read");
    CHECK(zdtm::first_difference(memory.first(4 * page), 1) < 0, "data below the guard changed");
    SYS(madvise(&memory[4 * page], 2 * page, MADV_GUARD_REMOVE));
    CHECK(memory[4 * page] == std::byte{}, "a removed guard page is not zero");
}
