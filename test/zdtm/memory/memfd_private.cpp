// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "zdtm.hpp"

ZDTM("a private mapping of a memfd keeps its changed pages and shows the memfd in the others") {
    const std::size_t page = zdtm::page_size();
    const int memfd = SYS(memfd_create("private", MFD_CLOEXEC));
    SYS(ftruncate(memfd, static_cast<off_t>(8 * page)));
    const std::span<std::byte> window = zdtm::map(8 * page, PROT_READ | PROT_WRITE, MAP_SHARED, memfd);
    const std::span<std::byte> own = zdtm::map(8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, memfd);
    SYS(close(memfd));
    zdtm::fill(window, 1);
    zdtm::fill(own.subspan(2 * page, page), 2);
    me.wait_for_check();

    CHECK(zdtm::first_difference(window, 1) < 0, "the file changed");
    CHECK(zdtm::first_difference(own.subspan(2 * page, page), 2) < 0, "the changed page is lost");
    CHECK(memcmp(&own[3 * page], &window[3 * page], 5 * page) == 0, "an unchanged page differs");
    window[4 * page] = std::byte{9};
    CHECK(own[4 * page] == std::byte{9}, "an unwritten page is a copy");
}
