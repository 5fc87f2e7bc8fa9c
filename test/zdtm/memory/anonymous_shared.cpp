// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also new-pidns, new-pidns-again, provided-again, provided-nothing, provider-nonsense, server-fails
#include "zdtm.hpp"

ZDTM("shared anonymous memory keeps its content and stays shared") {
    const std::span<std::byte> memory =
        zdtm::map(64 * zdtm::page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    const std::span<std::byte> data = memory.first(32 * zdtm::page_size());
    zdtm::fill(data, 1);
    std::byte* const mailbox = &memory[40 * zdtm::page_size()];
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(zdtm::first_difference(data, 1) < 0, "the child sees other data");
        CHECK(*mailbox == std::byte{7}, "the parent's write isn't seen");
        mailbox[1] = std::byte{8};
    });
    me.wait_for_check();

    CHECK(zdtm::first_difference(data, 1) < 0, "the data changed");
    CHECK(*mailbox == std::byte{}, "an untouched page is not zero");
    *mailbox = std::byte{7};
    me.finish(child);
    CHECK(mailbox[1] == std::byte{8}, "the child's write isn't seen");
}
