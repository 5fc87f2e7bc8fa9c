// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore mountinfo
// zdtm: fails-with-4.2(from-other) the program itself is on a mount outside of the namespace
// zdtm: restore-options --root /
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a bind mount of a part of a tmpfs whose other parts no mount shows") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    zdtm::mount_on("/mnt/whole", "tmpfs");
    SYS(mkdir("/mnt/whole/inner", 0700));
    SYS(mkdir("/mnt/whole/inner/deep", 0700));
    zdtm::write_file("/mnt/whole/inner/file", "content");
    zdtm::bind_on("/mnt/whole/inner", "/mnt/part");
    zdtm::bind_on("/mnt/whole/inner/deep", "/mnt/deep");
    SYS(umount("/mnt/whole"));
    const int file = SYS(open("/mnt/part/file", O_RDWR));
    me.wait_for_check();
    char byte = 0;
    CHECK(SYS(read(file, &byte, 1)) == 1 && byte == 'c', "read %d", byte);
    CHECK(zdtm::read_file("/mnt/part/file") == "content", "%s", zdtm::read_file("/mnt/part/file").c_str());
    zdtm::write_file("/mnt/part/deep/new", "x");
    SYS(access("/mnt/deep/new", F_OK));
}
