// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-pids yes
// zdtm: modes refused
// zdtm: refused /mnt \(tmpfs, mount \d+\): it came from outside together with the mounts on it
// zdtm: dump-options --external mnt[]:ms
#include <sys/stat.h>

#include "mounts.hpp"
#include "user_spaces.hpp"

ZDTM("a dump refuses a user's copy of mounts if one lies on another that can't be copied alone") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    SYS(mkdir("/mnt/place", 0755));
    zdtm::mount_on("/mnt/place", "tmpfs");
    zdtm::become_root_inside();
    SYS(unshare(CLONE_NEWNS));
    me.wait_for_check();
    zdtm::write_file("/mnt/place/file", "content");
}
