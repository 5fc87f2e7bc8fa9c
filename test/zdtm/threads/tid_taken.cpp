// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once
// zdtm: fails-with-4.2 it can't create the thread
// zdtm: between rm -f ../holder; sh -c 'echo $(($(cat tid)-1)) >/proc/sys/kernel/ns_last_pid; sleep 0.7 & echo $! >../holder; wait' & while ! [ -s ../holder ]; do sleep 0.01; done; test "$(cat ../holder)" = "$(cat tid)"
#include <cstdio>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("a thread whose tid is taken for the first moments of a restore") {
    zdtm::Threads threads(
        1,
        [](unsigned) {
            FILE* const file = std::fopen("tid", "w");
            CHECK(file != nullptr, "tid: %s", strerror(errno));
            std::fprintf(file, "%d\n", gettid());
            std::fclose(file);
        },
        [](unsigned) {});
    me.wait_for_check();
    threads.finish();
}
