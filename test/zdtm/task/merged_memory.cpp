// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it doesn't keep it
#include <sys/prctl.h>

#include "zdtm.hpp"

namespace {
constexpr int set_merge = 67;  // PR_SET_MEMORY_MERGE
constexpr int get_merge = 68;
}  // namespace

ZDTM("PR_SET_MEMORY_MERGE: the kernel may merge all memory with equal pages") {
    if (prctl(set_merge, 1, 0, 0, 0) == -1) {
        zdtm::skip("PR_SET_MEMORY_MERGE: %s", strerror(errno));
    }
    me.wait_for_check();
    CHECK(prctl(get_merge, 0, 0, 0, 0) == 1, "%d", prctl(get_merge, 0, 0, 0, 0));
}
