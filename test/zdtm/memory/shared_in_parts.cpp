// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

ZDTM("tasks that map different parts of one shared segment still share the common part") {
    const std::size_t page = zdtm::page_size();
    const std::span<std::byte> memory = zdtm::map(48 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    zdtm::fill(memory, 5);
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        // The child keeps the upper two thirds. The middle third is read-only.
        SYS(munmap(memory.data(), 16 * page));
        SYS(mprotect(&memory[16 * page], 16 * page, PROT_READ));
        task.wait_for_check();
        CHECK(memory[16 * page] == std::byte{1}, "the parent's write isn't seen");
        memory[47 * page] = std::byte{2};
    });
    // The parent keeps the lower two thirds.
    SYS(munmap(&memory[32 * page], 16 * page));
    me.wait_for_check();

    CHECK(zdtm::first_difference(memory.first(32 * page), 5) < 0, "the data changed");
    memory[16 * page] = std::byte{1};
    me.finish(child);
}
