// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2(from-other) the program itself is on a mount outside of the namespace
// zdtm: dump-options --external mnt[/mnt/usr]:programs
// zdtm: restore-options --root / --external mnt[programs]:/usr
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a read-only external mount, and a bind mount of a part of it") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    zdtm::bind_on("/usr", "/mnt/usr");
    SYS(mount(nullptr, "/mnt/usr", nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID, nullptr));
    zdtm::bind_on("/mnt/usr/bin", "/mnt/bin");
    const int program = SYS(open("/mnt/bin/env", O_RDONLY));
    struct stat before {};
    SYS(fstat(program, &before));
    const auto mounts = zdtm::mount_lines();

    me.wait_for_check();

    zdtm::check_mounts(mounts);
    struct stat opened {};
    struct stat outside {};
    SYS(fstat(program, &opened));
    SYS(stat("/usr/bin/env", &outside));
    CHECK(opened.st_ino == before.st_ino && opened.st_dev == outside.st_dev, "it is another file");
    CHECK(open("/mnt/usr/new", O_CREAT | O_WRONLY, 0600) == -1 && errno == EROFS, "it can be written");
}
