// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused hands system calls to another process.*without a listener
// zdtm: fails-with-4.2 it dumps the filter, whose system calls fail after the restore
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "seccomp.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a filter with a listener (SECCOMP_FILTER_FLAG_NEW_LISTENER)") {
    const int listener = static_cast<int>(
        SYS(zdtm::install_filter(SYS_getsid, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER)));
    SYS(close(listener));
    me.wait_for_check();
    CHECK(syscall(SYS_getsid, 0) == -1 && errno == ENOSYS, "getsid: %s", strerror(errno));
}
