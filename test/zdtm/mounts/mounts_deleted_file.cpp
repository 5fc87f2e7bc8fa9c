// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it forgets what is in the file
// zdtm: restore-options --root /
// zdtm: may-differ tmpfs-dev: \./\S*: mode 04
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <string>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("mounts of a deleted file and a deleted directory keep content, owner, mode and times; the file is open") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    SYS(mkdir("/mnt/folder", 0700));
    SYS(mkdir("/mnt/gone", 0700));
    zdtm::bind_on("/mnt/gone", "/mnt/folder");
    SYS(rmdir("/mnt/gone"));
    const int file = SYS(open("/mnt/first", O_RDWR | O_CREAT | O_EXCL, 0600));
    SYS(write(file, "content", 7));
    SYS(close(file));
    SYS(close(SYS(open("/mnt/place", O_WRONLY | O_CREAT | O_EXCL, 0600))));
    zdtm::bind_on("/mnt/first", "/mnt/place");
    SYS(chown("/mnt/place", 43, 44));
    SYS(chmod("/mnt/place", 04751));
    const timespec times[] = {{1000, 11}, {2000, 22}};
    SYS(utimensat(AT_FDCWD, "/mnt/place", times, 0));
    SYS(unlink("/mnt/first"));
    const int opened = SYS(open("/mnt/place", O_RDWR | O_NOATIME));
    const auto before = zdtm::mount_lines();

    me.wait_for_check();

    zdtm::check_mounts(before);
    struct stat stat {};
    SYS(::stat("/mnt/place", &stat));
    CHECK(stat.st_uid == 43 && stat.st_gid == 44 && (stat.st_mode & 07777) == 04751 && stat.st_nlink == 0,
          "of %u:%u, mode %o, %lu names", stat.st_uid, stat.st_gid, stat.st_mode,
          static_cast<unsigned long>(stat.st_nlink));
    CHECK(stat.st_mtim.tv_sec == 2000 && stat.st_mtim.tv_nsec == 22, "changed at %ld", stat.st_mtim.tv_sec);
    SYS(pwrite(opened, "C", 1, 0));
    char text[8] = {};
    const int again = SYS(open("/mnt/place", O_RDONLY));
    SYS(read(again, text, sizeof(text)));
    CHECK(std::string(text) == "Content", "%s", text);
    CHECK(access("/mnt/first", F_OK) != 0, "the deleted file has its name back");
    CHECK(mkdir("/mnt/folder/new", 0700) != 0 && errno == ENOENT, "the deleted directory isn't one");
}
