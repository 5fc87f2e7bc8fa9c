// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: dump-options --link-remap
// zdtm: refused fd \d+ of pid \d+ .*can't be given another name: .* is on another mount
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("a file has lost its name, and a mount now covers the directory") {
    SYS(mkdir("place", 0755));
    const int file = SYS(open("place/file", O_RDWR | O_CREAT, 0600));
    SYS(link("place/file", "other"));
    SYS(unlink("place/file"));
    SYS(mount("none", "place", "tmpfs", 0, nullptr));
    me.wait_for_check();
    SYS(write(file, "x", 1));
    SYS(umount("place"));
}
