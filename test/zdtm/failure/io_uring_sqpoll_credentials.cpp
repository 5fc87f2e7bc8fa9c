// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd 3\b).*io_uring .*\(IORING_SETUP_SQPOLL\) has other credentials
// zdtm: fails-with-4.2 its message does not say so
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses an io_uring whose kernel thread has credentials that the process has dropped") {
    zdtm::Ring ring(4, IORING_SETUP_SQPOLL);
    ring.spin(3);  // the kernel thread has run, so /proc shows its name
    SYS(setresuid(1000, 1000, 1000));
    SYS(prctl(PR_SET_DUMPABLE, 1));
    me.wait_for_check();
    ring.spin(20);
}
