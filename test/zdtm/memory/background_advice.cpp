// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, five, background
#include <sys/mman.h>
#include <sys/syscall.h>

#include <array>
#include <vector>

#include "zdtm.hpp"

namespace {

// criu reads smaps of so much memory when the process runs again.
constexpr std::size_t kMuch = std::size_t{40} << 20;

struct Advice {
    int value;
    const char* flag;  // in VmFlags
    std::span<std::byte> memory;
};

}  // namespace

ZDTM("flags of mappings in a large process, whatever it does while criu writes its memory") {
    const std::span<std::byte> memory = zdtm::map(kMuch);
    zdtm::fill(memory, 1);
    std::vector advices{Advice{MADV_DONTDUMP, "dd", {}},   Advice{MADV_HUGEPAGE, "hg", {}},
                        Advice{MADV_NOHUGEPAGE, "nh", {}}, Advice{MADV_SEQUENTIAL, "sr", {}},
                        Advice{MADV_RANDOM, "rr", {}},     Advice{MADV_MERGEABLE, "mg", {}}};
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
    const std::span<std::byte> reserve =
        zdtm::map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
    const std::span<std::byte> sealed = zdtm::map(size);
    constexpr long kSeal = 462;  // mseal(2), Linux 6.10
    const bool seals = syscall(kSeal, sealed.data(), size, 0) == 0;
    me.wait_for_check();

    CHECK(zdtm::first_difference(memory, 1) < 0, "the data changed");
    for (const Advice& advice : advices) {
        if (!advice.memory.empty()) {
            CHECK(zdtm::first_difference(advice.memory, 2) < 0, "data under %s changed", advice.flag);
            CHECK(zdtm::has_vm_flag(advice.memory.data(), advice.flag), "flag %s is lost", advice.flag);
        }
    }
    CHECK(zdtm::has_vm_flag(reserve.data(), "nr"), "MAP_NORESERVE is lost");
    CHECK(!seals || zdtm::has_vm_flag(sealed.data(), "sl"), "the seal is lost");
}
