// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused directories are nested in each other more than 1000 levels deep
#include <fcntl.h>
#include <sys/stat.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a tmpfs with ten thousand nested directories") {
    zdtm::enter_small_root();
    zdtm::mount_on("/mnt", "tmpfs");
    int at = SYS(open("/mnt", O_PATH | O_DIRECTORY));
    for (int level = 0; level < 10000; ++level) {
        SYS(mkdirat(at, "d", 0700));
        const int below = SYS(openat(at, "d", O_PATH | O_DIRECTORY));
        SYS(close(at));
        at = below;
    }
    SYS(close(at));
    me.wait_for_check();
}
