// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore fd 0 stat
// zdtm: fails-with-4.2 it wants overlays to be external
// zdtm: restore-options --root /
// zdtm: may-differ tmpfs-dev: \./work/
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <cstdio>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("an overlay with layers in a world-writable directory") {
    utsname names{};
    SYS(uname(&names));
    int major = 0;
    int minor = 0;
    if (std::sscanf(names.release, "%d.%d", &major, &minor) != 2 || major * 100 + minor < 613)
        zdtm::skip("the kernel takes layers by descriptor from 6.13 on; this is %s", names.release);
    zdtm::enter_small_root();
    zdtm::mount_on("/mnt", "tmpfs", "mode=1777");
    for (const char* const name : {"/mnt/lower", "/mnt/lower/folder", "/mnt/upper", "/mnt/work", "/mnt/merged"})
        SYS(mkdir(name, 0755));
    if (mount("layers", "/mnt/merged", "overlay", 0, "lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work") != 0)
        zdtm::skip("no overlayfs here: %s", strerror(errno));
    me.wait_for_check();
    SYS(mkdir("/mnt/merged/folder/new", 0700));
    SYS(access("/mnt/upper/folder/new", F_OK));
}
