// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once
// zdtm: warns POSIX timer \d+ of process \d+ \(cpu_timer_of_un\) counts the processor time of the thread that has made it
#include <ctime>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM(
    "a dump warns about a processor time timer in a process with several threads: the kernel doesn't name the thread") {
    sigevent event{};
    event.sigev_notify = SIGEV_NONE;
    timer_t timer{};
    zdtm::Threads threads(
        1, [&](unsigned) { SYS(timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer)); }, [](unsigned) {});
    me.wait_for_check();
    threads.finish();
    SYS(timer_delete(timer));
}
