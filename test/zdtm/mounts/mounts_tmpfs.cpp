// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also encrypted, encrypted-new-pidns, limited-content, new-pidns, new-pidns-again
// zdtm: fails-with-4.2(from-other) the program itself is on a mount outside of the namespace
// zdtm: restore-options --root /
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("a tmpfs of the tree's mount namespace, with an open file") {
    SYS(unshare(CLONE_NEWNS));
    SYS(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    SYS(mount("data", "/mnt", "tmpfs", MS_NOSUID, "mode=750,size=8m"));
    SYS(mkdir("/mnt/folder", 0710));
    const int file = SYS(open("/mnt/folder/file", O_RDWR | O_CREAT | O_EXCL, 0640));
    SYS(write(file, "content", 7));
    SYS(lseek(file, 3, SEEK_SET));

    me.wait_for_check();

    char text[8] = {};
    CHECK(read(file, text, 7) == 4 && std::string(text) == "tent", "%s", text);
    struct stat opened {};
    struct stat named {};
    SYS(fstat(file, &opened));
    SYS(stat("/mnt/folder/file", &named));
    CHECK(opened.st_dev == named.st_dev && opened.st_ino == named.st_ino, "it is another file");
    CHECK(named.st_mode == (S_IFREG | 0640), "mode %o", named.st_mode);
    SYS(stat("/mnt/folder", &named));
    CHECK(named.st_mode == (S_IFDIR | 0710), "mode %o", named.st_mode);
    SYS(stat("/mnt", &named));
    CHECK(named.st_mode == (S_IFDIR | 0750), "mode %o", named.st_mode);
}
