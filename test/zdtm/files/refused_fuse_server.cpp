// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+ of pid \d+ .*is the connection of a FUSE server
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("a dump refuses the /dev/fuse descriptor of a FUSE server") {
    if (open("/dev/fuse", O_RDWR | O_CLOEXEC) < 0)
        zdtm::skip("no FUSE here: %s", strerror(errno));
    me.wait_for_check();
}
