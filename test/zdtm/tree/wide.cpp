// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also limited
#include <vector>

#include "zdtm.hpp"

ZDTM("a tree of 60 children with memory of their own") {
    const std::span<std::byte> memory = zdtm::map(16 * zdtm::page_size());
    std::vector<pid_t> children;
    for (unsigned i = 0; i < 60; ++i) {
        children.push_back(me.start_child([&memory, i](zdtm::Task& task) {
            zdtm::fill(memory, i);
            task.wait_for_check();
            CHECK(zdtm::first_difference(memory, i) < 0, "child %u has other memory", i);
        }));
    }
    me.wait_for_check();
    for (const pid_t child : children) {
        me.finish(child);
    }
}
