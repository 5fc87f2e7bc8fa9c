// SPDX-License-Identifier: GPL-2.0-only
// zdtm: between f=/proc/sys/kernel/pid_max; was=$(cat $f); unshare -pf sh -c "echo $((was-1)) >$f"; if [ $(cat $f) = $was ]; then echo 20000 >$f; else echo $was >$f; fi
#include "high_numbers.hpp"
#include "threads.hpp"

ZDTM("a tid above pid_max of the pid namespace that the tree is restored in") {
    pid_t before = 0;
    const pid_t number = zdtm::name_next_above_limit();
    zdtm::Threads threads(
        1, [&](unsigned) { before = gettid(); },
        [&](unsigned) { CHECK(gettid() == before, "tid was %d, is %d", before, gettid()); });
    CHECK(before == number, "tid %d", before);
    me.wait_for_check();
    zdtm::check_limit(number);
    threads.finish();
}
