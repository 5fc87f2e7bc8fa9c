// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also new-pidns, new-pidns-again, provided-again, provided-nothing, provider-nonsense
#include <sys/mman.h>

#include "zdtm.hpp"

ZDTM("two tasks share a mapping of a memfd whose descriptor is closed") {
    const std::size_t size = 16 * zdtm::page_size();
    const int memfd = SYS(memfd_create("a name", MFD_CLOEXEC));
    SYS(ftruncate(memfd, static_cast<off_t>(2 * size)));
    const std::span<std::byte> memory = zdtm::map(size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd);
    const std::span<std::byte> upper =
        zdtm::map(size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, static_cast<off_t>(size));
    SYS(close(memfd));
    zdtm::fill(memory.first(size / 2), 1);
    zdtm::fill(upper, 2);
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(memory[size - 1] == std::byte{5} && upper[0] == std::byte{6}, "not shared any more");
    });
    me.wait_for_check();

    CHECK(zdtm::first_difference(memory.first(size / 2), 1) < 0, "the data changed");
    CHECK(zdtm::first_difference(upper, 2) < 0, "the data behind the offset changed");
    CHECK(memory[size - 1] == std::byte{}, "the hole is not zero");
    memory[size - 1] = std::byte{5};
    upper[0] = std::byte{6};
    me.finish(child);
}
