// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it doesn't keep it
#include <sys/prctl.h>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
constexpr int futex_hash = 78;  // PR_FUTEX_HASH
constexpr int set_slots = 1;
constexpr int get_slots = 2;
}  // namespace

ZDTM("PR_FUTEX_HASH: a process with threads uses the table of all processes") {
    zdtm::Threads threads(
        3, [](unsigned) {}, [](unsigned) {});
    threads.wait_arrived();
    if (prctl(futex_hash, set_slots, 0, 0, 0) == -1) {
        zdtm::skip("PR_FUTEX_HASH: %s", strerror(errno));
    }
    me.wait_for_check();
    const int slots = prctl(futex_hash, get_slots, 0, 0, 0);
    CHECK(slots == 0, "%d slots", slots);
    threads.finish();
}
