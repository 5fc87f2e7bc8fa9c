// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, pre-dump, leave-running, striped-chain
#include <sys/mman.h>

#include <array>

#include "advices.hpp"
#include "zdtm.hpp"

namespace {

// criu reads flags of mappings without smaps if a process has so much memory, and stores it in several pages files.
constexpr std::size_t kMuch = std::size_t{272} << 20;

}  // namespace

ZDTM("flags of mappings in a process with much memory") {
    const std::span<std::byte> memory = zdtm::map(kMuch);
    zdtm::fill(memory, 1);
    std::array advices{zdtm::Advice{MADV_DONTDUMP, "dd"},   zdtm::Advice{MADV_DONTFORK, "dc"},
                       zdtm::Advice{MADV_HUGEPAGE, "hg"},   zdtm::Advice{MADV_NOHUGEPAGE, "nh"},
                       zdtm::Advice{MADV_SEQUENTIAL, "sr"}, zdtm::Advice{MADV_RANDOM, "rr"},
                       zdtm::Advice{MADV_MERGEABLE, "mg"},  zdtm::Advice{MADV_WIPEONFORK, "wf"}};
    zdtm::give_advice(advices, 2);
    me.wait_for_check();

    CHECK(zdtm::first_difference(memory, 1) < 0, "the memory changed");
    zdtm::check_advice(advices, 2);
}
