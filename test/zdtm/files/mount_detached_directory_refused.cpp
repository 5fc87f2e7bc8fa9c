// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: dump-options --link-remap
// zdtm: refused process \d+ .*on one that is detached .*have the process leave it
#include <sys/mount.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("the working directory is on a detached mount of criu's mount namespace") {
    SYS(mkdir("place", 0755));
    SYS(mount("none", "place", "tmpfs", 0, nullptr));
    SYS(chdir("place"));
    SYS(umount2(".", MNT_DETACH));
    me.wait_for_check();
    SYS(mkdir("directory", 0700));
}
