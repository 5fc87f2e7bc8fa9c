// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include <array>

#include "zdtm.hpp"

namespace {
struct Advice {
    int value;
    const char* flag;  // in VmFlags
    std::span<std::byte> memory;
};
}  // namespace

ZDTM("madvise(2) flags of mappings") {
    std::array advices{Advice{MADV_DONTDUMP, "dd", {}},   Advice{MADV_DONTFORK, "dc", {}},
                       Advice{MADV_HUGEPAGE, "hg", {}},   Advice{MADV_NOHUGEPAGE, "nh", {}},
                       Advice{MADV_SEQUENTIAL, "sr", {}}, Advice{MADV_RANDOM, "rr", {}},
                       Advice{MADV_MERGEABLE, "mg", {}},  Advice{MADV_WIPEONFORK, "wf", {}}};
    const std::size_t size = 4 * zdtm::page_size();
    for (Advice& advice : advices) {
        advice.memory = zdtm::map(size);
        // A kernel without KSM or huge pages has no flag to keep.
        if (madvise(advice.memory.data(), size, advice.value) != 0) {
            CHECK(errno == EINVAL, "advice %d: %s", advice.value, strerror(errno));
            advice.memory = {};
            continue;
        }
        zdtm::fill(advice.memory, 1);
        CHECK(zdtm::has_vm_flag(advice.memory.data(), advice.flag), "flag %s isn't set", advice.flag);
    }
    me.wait_for_check();

    for (const Advice& advice : advices) {
        if (!advice.memory.empty()) {
            CHECK(zdtm::first_difference(advice.memory, 1) < 0, "data under %s changed", advice.flag);
            CHECK(zdtm::has_vm_flag(advice.memory.data(), advice.flag), "flag %s is lost", advice.flag);
        }
    }
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(advices[7].memory[0] == std::byte{}, "memory is not wiped on fork any more");
    });
    me.finish(child);
}
