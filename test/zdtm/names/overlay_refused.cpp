// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused /merged \(overlay, mount \d+\) is of a file system that can't be mounted anew.*--external mnt
#include <sys/mount.h>
#include <sys/stat.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("an overlay, whose options name directories by paths of the tree") {
    zdtm::enter_small_root();
    zdtm::mount_on("/tmp", "tmpfs");
    for (const char* const name : {"/tmp/lower", "/tmp/upper", "/tmp/work", "/tmp/merged"}) {
        SYS(mkdir(name, 0755));
    }
    if (mount("overlay", "/tmp/merged", "overlay", 0, "lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work") != 0)
        zdtm::skip("no overlayfs here: %s", strerror(errno));
    me.wait_for_check();
}
