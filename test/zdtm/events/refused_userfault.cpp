// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+ of pid \d+ .*is a userfaultfd
#include <fcntl.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("a userfaultfd is refused") {
    if (syscall(SYS_userfaultfd, O_CLOEXEC) == -1) {
        zdtm::skip("no userfaultfd here: %s", strerror(errno));
    }
    me.wait_for_check();
}
