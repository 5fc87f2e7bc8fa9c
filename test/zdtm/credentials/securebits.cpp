// SPDX-License-Identifier: GPL-2.0-only
#include <linux/securebits.h>
#include <sys/prctl.h>

#include "zdtm.hpp"

ZDTM("securebits") {
    const unsigned long bits = SECBIT_NOROOT | SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE;
    SYS(prctl(PR_SET_SECUREBITS, bits, 0, 0, 0));
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
        task.wait_for_check();
        CHECK(prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0) == 1, "keep-capabilities is lost");
    });
    me.wait_for_check();

    const int now = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
    CHECK(now == static_cast<int>(bits), "were 0x%lx, are 0x%x", bits, now);
    CHECK(prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0) == 0, "keep-capabilities came from nowhere");
    me.finish(child);
}
