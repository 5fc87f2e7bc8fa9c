// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+ of pid \d+ \(/mnt/other.*\): .*: Stale file handle
// zdtm: strangers yes
#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mount.h>

#include "fuse.hpp"
#include "zdtm.hpp"

ZDTM("a FUSE server can't read a deleted file any more: the error names the file") {
    zdtm::forget_deleted_fuse_file(FUSE_READ);
    zdtm::FuseSibling sibling(zdtm::mount_fuse("/mnt"), zdtm::FuseSibling::Deaf::Unread);
    const int file = SYS(open("/mnt/other", O_RDONLY));
    SYS(unlink("/mnt/other"));
    me.wait_for_check();
    SYS(close(file));
    SYS(umount2("/mnt", MNT_DETACH));
    sibling.end();
}
