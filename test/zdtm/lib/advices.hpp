// SPDX-License-Identifier: GPL-2.0-only
// Mappings with advice of madvise(2), and their flags in /proc/PID/smaps.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <span>

#include "zdtm.hpp"

namespace zdtm {

struct Advice {
    int value;
    const char* flag;  // in VmFlags
    std::span<std::byte> memory = {};
};

// Maps and fills memory for each advice. Memory for an advice that the kernel lacks stays empty, because a kernel
// without KSM or huge pages has no flag to keep.
inline void give_advice(std::span<Advice> advices, unsigned seed) {
    const std::size_t size = 4 * page_size();
    for (Advice& advice : advices) {
        const std::span<std::byte> memory = map(size);
        if (madvise(memory.data(), size, advice.value) != 0) {
            CHECK(errno == EINVAL, "advice %d: %s", advice.value, strerror(errno));
            continue;
        }
        fill(memory, seed);
        CHECK(has_vm_flag(memory.data(), advice.flag), "flag %s isn't set", advice.flag);
        advice.memory = memory;
    }
}

// Requires the contents and flags of give_advice().
inline void check_advice(std::span<const Advice> advices, unsigned seed) {
    for (const Advice& advice : advices)
        if (!advice.memory.empty()) {
            CHECK(first_difference(advice.memory, seed) < 0, "data under %s changed", advice.flag);
            CHECK(has_vm_flag(advice.memory.data(), advice.flag), "flag %s is lost", advice.flag);
        }
}

}  // namespace zdtm
