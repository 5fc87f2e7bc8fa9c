// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 its images don't say what is sealed
#include <sys/mman.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("after the restore, sealed memory (mseal) can't be unmapped, and its protection can't be changed") {
    constexpr long kSeal = 462;  // mseal(2), Linux 6.10
    const std::size_t page = zdtm::page_size();
    const std::span<std::byte> memory = zdtm::map(3 * page);
    zdtm::fill(memory, 1);
    SYS(mprotect(memory.data(), page, PROT_READ));
    if (syscall(kSeal, memory.data(), 2 * page, 0) != 0) {
        zdtm::skip("mseal: %s", strerror(errno));
    }
    me.wait_for_check();

    CHECK(zdtm::first_difference(memory, 1) < 0, "the data changed");
    CHECK(mprotect(memory.data(), page, PROT_READ | PROT_WRITE) == -1 && errno == EPERM, "it can be made writable");
    CHECK(munmap(memory.data() + page, page) == -1 && errno == EPERM, "it can be unmapped");
    SYS(munmap(memory.data() + 2 * page, page));
}
