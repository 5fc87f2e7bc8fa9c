// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once
// zdtm: dump-options --external mnt[]:m
// zdtm: restore-options --external mnt[]:m
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("of two outside mounts of one directory, the restore clones the one that a slave mount gets events from") {
    // Mounts before unshare(2) are in criu's namespace, too.
    zdtm::mount_on("/mnt", "tmpfs");
    zdtm::propagate("/mnt", MS_PRIVATE);
    zdtm::bind_on("/mnt", "/media");
    zdtm::propagate("/media", MS_PRIVATE);
    zdtm::propagate("/media", MS_SHARED);
    SYS(unshare(CLONE_NEWNS));
    SYS(mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr));
    const auto mounts = zdtm::mount_lines();
    me.wait_for_check();
    zdtm::check_mounts(mounts);
}
