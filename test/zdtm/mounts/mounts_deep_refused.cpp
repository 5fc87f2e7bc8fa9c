// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused mounts are on each other more than 128 levels deep, at /mnt
#include <sys/mount.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses five thousand mounts that cover each other") {
    zdtm::enter_small_root();
    for (int level = 0; level < 5000; ++level)
        SYS(mount("none", "/mnt", "tmpfs", 0, "size=4k"));
    me.wait_for_check();
}
