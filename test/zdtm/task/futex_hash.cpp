// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it doesn't keep it
#include <sys/prctl.h>

#include "zdtm.hpp"

namespace {
constexpr int futex_hash = 78;  // PR_FUTEX_HASH
constexpr int set_slots = 1;
constexpr int get_slots = 2;
constexpr int few_slots = 4;  // the kernel itself chooses at least 16
}  // namespace

ZDTM("PR_FUTEX_HASH: the process has chosen a small table for its futexes") {
    if (prctl(futex_hash, set_slots, few_slots, 0, 0) == -1) {
        zdtm::skip("PR_FUTEX_HASH: %s", strerror(errno));
    }
    me.wait_for_check();
    const int slots = prctl(futex_hash, get_slots, 0, 0, 0);
    CHECK(slots == few_slots, "%d slots", slots);
}
