// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, five, background
#include <sys/mman.h>
#include <sys/syscall.h>

#include <array>
#include <vector>

#include "advices.hpp"
#include "zdtm.hpp"

namespace {

// criu reads smaps of so much memory when the process runs again.
constexpr std::size_t kMuch = std::size_t{40} << 20;

}  // namespace

ZDTM("flags of mappings in a large process, whatever it does while criu writes its memory") {
    const std::span<std::byte> memory = zdtm::map(kMuch);
    zdtm::fill(memory, 1);
    std::vector advices{zdtm::Advice{MADV_DONTDUMP, "dd"},   zdtm::Advice{MADV_HUGEPAGE, "hg"},
                        zdtm::Advice{MADV_NOHUGEPAGE, "nh"}, zdtm::Advice{MADV_SEQUENTIAL, "sr"},
                        zdtm::Advice{MADV_RANDOM, "rr"},     zdtm::Advice{MADV_MERGEABLE, "mg"}};
    const std::size_t size = 4 * zdtm::page_size();
    zdtm::give_advice(advices, 2);
    const std::span<std::byte> reserve =
        zdtm::map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
    const std::span<std::byte> sealed = zdtm::map(size);
    constexpr long kSeal = 462;  // mseal(2), Linux 6.10
    const bool seals = syscall(kSeal, sealed.data(), size, 0) == 0;
    me.wait_for_check();

    CHECK(zdtm::first_difference(memory, 1) < 0, "the data changed");
    zdtm::check_advice(advices, 2);
    CHECK(zdtm::has_vm_flag(reserve.data(), "nr"), "MAP_NORESERVE is lost");
    CHECK(!seals || zdtm::has_vm_flag(sealed.data(), "sl"), "the seal is lost");
}
