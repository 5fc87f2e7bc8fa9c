// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: dump-options --link-remap
// zdtm: refused fd \d+ of pid \d+ .*on one that is detached
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("an open file is on a detached mount of criu's mount namespace") {
    SYS(mkdir("place", 0755));
    SYS(mount("none", "place", "tmpfs", 0, nullptr));
    const int file = SYS(open("place/file", O_RDWR | O_CREAT, 0600));
    SYS(umount2("place", MNT_DETACH));
    me.wait_for_check();
    SYS(write(file, "x", 1));
}
