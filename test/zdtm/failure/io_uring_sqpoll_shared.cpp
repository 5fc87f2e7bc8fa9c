// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd 3\b).*io_uring .*\(IORING_SETUP_SQPOLL\).*process
// zdtm: fails-with-4.2 its message does not say so
#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses an io_uring with a kernel thread that a child has inherited") {
    zdtm::Ring ring(4, IORING_SETUP_SQPOLL);
    const pid_t child = me.start_child([](zdtm::Task& task) { task.wait_for_check(); });
    me.wait_for_check();
    ring.spin(20);
    me.finish(child);
}
