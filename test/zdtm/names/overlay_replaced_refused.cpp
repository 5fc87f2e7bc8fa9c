// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused /merged \(overlay, mount \d+\): its upperdir, /mnt/upper, is another directory than when it was mounted
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses an overlay whose upper layer was moved and replaced by another directory") {
    zdtm::enter_small_root();
    zdtm::mount_on("/mnt", "tmpfs", "mode=755");
    for (const char* const name : {"/mnt/lower", "/mnt/upper", "/mnt/work", "/mnt/merged"})
        SYS(mkdir(name, 0755));
    if (mount("overlay", "/mnt/merged", "overlay", 0, "lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work") != 0)
        zdtm::skip("no overlayfs here: %s", strerror(errno));
    usleep(50000);  // File times have the resolution of the timer interrupt.
    SYS(rename("/mnt/upper", "/mnt/moved"));
    SYS(mkdir("/mnt/upper", 0755));
    me.wait_for_check();
}
