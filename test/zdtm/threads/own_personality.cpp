// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it gives all threads the personality of their process
#include <sys/personality.h>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("threads with a personality of their own, in a process that has one, too") {
    constexpr unsigned long kOfThread[] = {UNAME26, ADDR_NO_RANDOMIZE, 0};
    SYS(personality(ADDR_NO_RANDOMIZE));
    zdtm::Threads threads(
        3, [&](unsigned index) { SYS(personality(kOfThread[index])); },
        [&](unsigned index) {
            CHECK(static_cast<unsigned long>(personality(0xffffffff)) == kOfThread[index], "thread %u: %#x", index,
                  personality(0xffffffff));
        });
    me.wait_for_check();
    CHECK(personality(0xffffffff) == ADDR_NO_RANDOMIZE, "the leader: %#x", personality(0xffffffff));
    threads.finish();
}
