// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include <array>

#include "advices.hpp"
#include "zdtm.hpp"

ZDTM("madvise(2) flags of mappings") {
    std::array advices{zdtm::Advice{MADV_DONTDUMP, "dd"},   zdtm::Advice{MADV_DONTFORK, "dc"},
                       zdtm::Advice{MADV_HUGEPAGE, "hg"},   zdtm::Advice{MADV_NOHUGEPAGE, "nh"},
                       zdtm::Advice{MADV_SEQUENTIAL, "sr"}, zdtm::Advice{MADV_RANDOM, "rr"},
                       zdtm::Advice{MADV_MERGEABLE, "mg"},  zdtm::Advice{MADV_WIPEONFORK, "wf"}};
    zdtm::give_advice(advices, 1);
    me.wait_for_check();

    zdtm::check_advice(advices, 1);
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(advices[7].memory[0] == std::byte{}, "memory is not wiped on fork any more");
    });
    me.finish(child);
}
