// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+ of pid \d+ .*is a file system that is being made \(fsopen\(2\)
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("a dump refuses a file system that fsopen(2) is creating") {
    if (syscall(SYS_fsopen, "tmpfs", 0) < 0)
        zdtm::skip("no file system can be made here: %s", strerror(errno));
    me.wait_for_check();
}
