// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+ of pid \d+ .*is the kernel's interface to virtual machines
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("a dump refuses /dev/kvm") {
    if (open("/dev/kvm", O_RDWR | O_CLOEXEC) < 0)
        zdtm::skip("no virtual machines here: %s", strerror(errno));
    me.wait_for_check();
}
