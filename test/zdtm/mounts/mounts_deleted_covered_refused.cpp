// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused is deleted, and another mount lies over the directory it was in
#include <fcntl.h>
#include <sys/stat.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a deleted file whose directory a later mount covers") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    SYS(mkdir("/mnt/place", 0700));
    const int file = SYS(open("/mnt/place/file", O_RDWR | O_CREAT | O_EXCL, 0600));
    SYS(unlink("/mnt/place/file"));
    zdtm::mount_on("/mnt/place", "tmpfs");
    me.wait_for_check();
    SYS(write(file, "x", 1));
}
