// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2(from-other) the program itself is on a mount outside of the namespace
// zdtm: restore-options --root /
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <string>

#include "mounts.hpp"
#include "zdtm.hpp"

namespace {

// Moves the calling process to a root that contains only a file and a directory.
void enter_bare_root(unsigned long flags) {
    SYS(unshare(CLONE_NEWNS));
    SYS(mount("bare", "/mnt", "tmpfs", 0, nullptr));
    SYS(mount(nullptr, "/mnt", nullptr, MS_PRIVATE, nullptr));
    SYS(chdir("/mnt"));
    SYS(mkdir("old", 0700));
    SYS(syscall(SYS_pivot_root, ".", "old"));
    SYS(umount2("old", MNT_DETACH));
    SYS(close(SYS(open("file", O_RDWR | O_CREAT | O_EXCL, 0666))));
    const timespec times[] = {{1000, 11}, {2000, 22}};
    SYS(utimensat(AT_FDCWD, "/", times, 0));
    SYS(mount(nullptr, "/", nullptr, MS_REMOUNT | flags, nullptr));
}

void check_bare_root() {
    struct stat stat {};
    CHECK(access("/proc", F_OK) != 0 && errno == ENOENT, "there is a /proc");
    SYS(access("/file", F_OK));
    SYS(::stat("/", &stat));
    CHECK(stat.st_mtim.tv_sec == 2000 && stat.st_mtim.tv_nsec == 22, "the root was changed at %ld",
          stat.st_mtim.tv_sec);
}

}  // namespace

ZDTM("children in mount namespaces whose roots have no /proc; one root is read-only") {
    zdtm::enter_new_mounts();
    const pid_t child = me.start_child([](zdtm::Task& task) {
        enter_bare_root(0);
        const int file = SYS(open("/file", O_RDWR));
        task.wait_for_check();
        check_bare_root();
        SYS(write(file, "x", 1));
        SYS(close(SYS(open("/other", O_WRONLY | O_CREAT | O_EXCL, 0600))));
    });
    const pid_t reader = me.start_child([](zdtm::Task& task) {
        enter_bare_root(MS_RDONLY);
        const int file = SYS(open("/file", O_RDONLY));
        task.wait_for_check();
        check_bare_root();
        char byte = 0;
        CHECK(SYS(read(file, &byte, 1)) == 0, "the file has content");
        CHECK(open("/file", O_WRONLY) < 0 && errno == EROFS, "it can be written to");
    });
    me.wait_for_check();
    me.finish(child);
    me.finish(reader);
}
