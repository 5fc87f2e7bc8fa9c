// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, five
// zdtm: restore-options --root /
// zdtm: fails-with-4.2 the program itself is on a mount outside of the namespace
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "mounts.hpp"
#include "other_user.hpp"

ZDTM("a deleted device node of a mount namespace") {
    zdtm::enter_new_root();
    zdtm::mount_on("/proc", "proc");
    zdtm::mount_on("/dev", "tmpfs", "mode=755,size=64k");
    SYS(mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3)));
    zdtm::make_users_directory("mine");
    SYS(mknod("mine/zero", S_IFCHR | 0600, makedev(1, 5)));
    SYS(chmod("mine/zero", 0666));
    SYS(chown("mine/zero", zdtm::kOtherUser, zdtm::kOtherUser));
    const int zero = SYS(open("mine/zero", O_RDWR));
    SYS(unlink("mine/zero"));
    zdtm::become_user();
    me.wait_for_check();

    struct stat info {};
    SYS(fstat(zero, &info));
    CHECK(S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 5) && info.st_nlink == 0, "mode %o", info.st_mode);
    CHECK((info.st_mode & 07777) == 0666 && info.st_uid == zdtm::kOtherUser, "mode %o of %u", info.st_mode,
          info.st_uid);
    char text[4] = {1, 1, 1, 1};
    CHECK(read(zero, text, 4) == 4 && text[0] == 0, "%s", strerror(errno));
}
