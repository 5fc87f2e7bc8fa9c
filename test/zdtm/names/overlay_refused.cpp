// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused /merged \(overlay, mount \d+\): lowerdir\+: open mnt/layers/lower below its directory
#include <sys/mount.h>
#include <sys/stat.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses an overlay whose layers were moved and replaced by a symbolic link") {
    zdtm::enter_small_root();
    zdtm::mount_on("/mnt", "tmpfs", "mode=755");
    for (const char* const name : {"/mnt/layers", "/mnt/layers/lower", "/mnt/upper", "/mnt/work", "/mnt/merged"})
        SYS(mkdir(name, 0755));
    if (mount("overlay", "/mnt/merged", "overlay", 0,
              "lowerdir=/mnt/layers/lower,upperdir=/mnt/upper,workdir=/mnt/work") != 0)
        zdtm::skip("no overlayfs here: %s", strerror(errno));
    SYS(rename("/mnt/layers", "/mnt/moved"));
    SYS(symlink("/mnt/moved", "/mnt/layers"));
    me.wait_for_check();
}
