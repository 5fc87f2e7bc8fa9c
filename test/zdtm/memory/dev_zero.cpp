// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("mappings of /dev/zero, private and shared") {
    const int zero = SYS(open("/dev/zero", O_RDWR));
    const std::size_t size = 4 * zdtm::page_size();
    const std::span<std::byte> own = zdtm::map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero);
    const std::span<std::byte> shared = zdtm::map(size, PROT_READ | PROT_WRITE, MAP_SHARED, zero);
    SYS(close(zero));
    zdtm::fill(own, 1);
    zdtm::fill(shared, 2);
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(shared[0] == std::byte{9}, "not shared any more");
        CHECK(zdtm::first_difference(own, 1) < 0, "the child's private data changed");
    });
    me.wait_for_check();

    CHECK(zdtm::first_difference(own, 1) < 0, "private data changed");
    CHECK(zdtm::first_difference(shared, 2) < 0, "shared data changed");
    shared[0] = own[0] = std::byte{9};
    me.finish(child);
}
