// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it does not keep the personality
#include <sys/personality.h>

#include "zdtm.hpp"

ZDTM("the personality (ADDR_NO_RANDOMIZE, ADDR_COMPAT_LAYOUT)") {
    const unsigned long wanted = ADDR_NO_RANDOMIZE | ADDR_COMPAT_LAYOUT;
    SYS(personality(wanted));
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(personality(UNAME26));
        task.wait_for_check();
        CHECK(personality(0xffffffff) == UNAME26, "now 0x%x", personality(0xffffffff));
    });
    me.wait_for_check();
    CHECK(personality(0xffffffff) == static_cast<int>(wanted), "now 0x%x", personality(0xffffffff));
    me.finish(child);
}
