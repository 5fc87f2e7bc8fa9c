// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused /mnt/part \(tmpfs, mount [0-9]+\) is a mount of /inner from outside
#include <sys/mount.h>
#include <sys/stat.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a mount of a part of a file system of which the rest can't be seen") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    zdtm::mount_on("/mnt/whole", "tmpfs");
    SYS(mkdir("/mnt/whole/inner", 0700));
    zdtm::bind_on("/mnt/whole/inner", "/mnt/part");
    SYS(umount("/mnt/whole"));
    me.wait_for_check();
}
