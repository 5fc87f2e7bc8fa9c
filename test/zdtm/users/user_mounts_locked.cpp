// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-pids yes
// zdtm: ignore mountinfo
// zdtm: dump-options --external mnt[]:ms
// zdtm: restore-options --external mnt[]:ms
// zdtm: fails-with-4.2 it opens what a locked mount covers
#include "mounts.hpp"
#include "user_spaces.hpp"

ZDTM("a user's copy of mounts, one covering another: the kernel locks such mounts") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    zdtm::write_file("/mnt/below", "covered");
    zdtm::mount_on("/mnt", "tmpfs");
    zdtm::write_file("/mnt/above", "seen");
    zdtm::become_root_inside();
    SYS(unshare(CLONE_NEWNS));
    CHECK(umount("/mnt") < 0 && errno == EINVAL, "the mount isn't locked: %s", strerror(errno));

    me.wait_for_check();

    CHECK(zdtm::read_file("/mnt/above") == "seen", "%s", zdtm::read_file("/mnt/above").c_str());
    CHECK(access("/mnt/below", F_OK) < 0 && errno == ENOENT, "the covered file is seen: %s", strerror(errno));
}
