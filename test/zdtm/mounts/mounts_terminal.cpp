// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore fd 0 stat
// zdtm: fails-with-4.2(from-other) the program itself is on a mount outside of the namespace
// zdtm: restore-options --root /
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a terminal of the tree's devpts is mounted on /dev/console, as in containers") {
    zdtm::enter_new_root();
    zdtm::mount_on("/proc", "proc", "", MS_NOSUID | MS_NODEV | MS_NOEXEC);
    zdtm::mount_on("/dev", "tmpfs", "mode=755,size=64k", MS_NOSUID | MS_STRICTATIME, "devices");
    SYS(mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3)));
    zdtm::mount_on("/dev/pts", "devpts", "newinstance,ptmxmode=0666,mode=0620", MS_NOSUID | MS_NOEXEC, "devpts");
    const int master = SYS(open("/dev/pts/ptmx", O_RDWR | O_NOCTTY));
    const int unlocked = 0;
    SYS(ioctl(master, TIOCSPTLCK, &unlocked));
    const int slave = SYS(open("/dev/pts/0", O_RDWR | O_NOCTTY));
    SYS(close(SYS(open("/dev/console", O_WRONLY | O_CREAT | O_EXCL, 0600))));
    zdtm::bind_on("/dev/pts/0", "/dev/console");
    const auto before = zdtm::mount_lines();

    me.wait_for_check();

    zdtm::check_mounts(before);
    struct stat console {};
    struct stat terminal {};
    SYS(stat("/dev/console", &console));
    SYS(fstat(slave, &terminal));
    CHECK(console.st_rdev == terminal.st_rdev && console.st_ino == terminal.st_ino, "it is another terminal");
    const int opened = SYS(open("/dev/console", O_WRONLY | O_NOCTTY));
    SYS(write(opened, "x", 1));
    char byte = 0;
    SYS(read(master, &byte, 1));
    CHECK(byte == 'x', "the terminal's other side has %d", byte);
}
