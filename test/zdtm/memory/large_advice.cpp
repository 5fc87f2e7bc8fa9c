// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, pre-dump, leave-running, striped-chain
#include <sys/mman.h>

#include <array>

#include "zdtm.hpp"

namespace {

// criu reads flags of mappings without smaps if a process has so much memory, and stores it in several pages files.
constexpr std::size_t kMuch = std::size_t{272} << 20;

struct Advice {
    int value;
    const char* flag;  // in VmFlags
    std::span<std::byte> memory;
};

}  // namespace

ZDTM("flags of mappings in a process with much memory") {
    const std::span<std::byte> memory = zdtm::map(kMuch);
    zdtm::fill(memory, 1);
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
        zdtm::fill(advice.memory, 2);
    }
    me.wait_for_check();

    CHECK(zdtm::first_difference(memory, 1) < 0, "the memory changed");
    for (const Advice& advice : advices) {
        if (!advice.memory.empty()) {
            CHECK(zdtm::first_difference(advice.memory, 2) < 0, "data under %s changed", advice.flag);
            CHECK(zdtm::has_vm_flag(advice.memory.data(), advice.flag), "flag %s is lost", advice.flag);
        }
    }
}
