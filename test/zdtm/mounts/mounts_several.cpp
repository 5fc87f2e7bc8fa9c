// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also new-pidns, new-pidns-again
// zdtm: fails-with-4.2(from-other) the program itself is on a mount outside of the namespace
// zdtm: restore-options --root /
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a child in another mount namespace that shares a mount with its parent's namespace") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    zdtm::mount_on("/mnt/shared", "tmpfs");
    zdtm::propagate("/mnt/shared", MS_SHARED);
    SYS(mkdir("/mnt/shared/place", 0700));
    SYS(mkdir("/mnt/own", 0700));
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWNS));
        zdtm::mount_on("/mnt/own", "tmpfs");
        const int file = SYS(open("/mnt/own/file", O_RDWR | O_CREAT | O_EXCL, 0600));
        SYS(write(file, "child", 5));
        SYS(chdir("/mnt/own"));
        const auto before = zdtm::mount_lines();
        task.wait_for_check();
        zdtm::check_mounts(before);
        char text[6] = {};
        SYS(pread(file, text, 5, 0));
        CHECK(std::string(text) == "child", "%s", text);
        SYS(access("file", R_OK));
        zdtm::mount_on("/mnt/shared/place", "tmpfs");
        SYS(close(SYS(open("/mnt/shared/place/from-child", O_CREAT | O_WRONLY, 0600))));
    });
    const auto before = zdtm::mount_lines();

    me.wait_for_check();

    zdtm::check_mounts(before);
    CHECK(access("/mnt/own/file", F_OK) == -1 && errno == ENOENT, "the child's own mount is here");
    me.finish(child);
    SYS(access("/mnt/shared/place/from-child", F_OK));
}
