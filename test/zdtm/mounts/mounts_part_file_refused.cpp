// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused /mnt/part \(tmpfs, mount [0-9]+\) is a mount of /file from outside
#include <sys/mount.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a bind mount of a file of a tmpfs whose other parts no mount shows") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    zdtm::mount_on("/mnt/whole", "tmpfs");
    zdtm::write_file("/mnt/whole/file", "content");
    zdtm::bind_on("/mnt/whole/file", "/mnt/part");
    SYS(umount("/mnt/whole"));
    me.wait_for_check();
}
