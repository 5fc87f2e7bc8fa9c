// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, planted
// zdtm: restore-options --root /
// zdtm: fails-with-4.2 the program itself is on a mount outside of the namespace
// zdtm: plant mkdir -m 700 outside; mv inner away; ln -s "$PWD/outside" inner
// zdtm: unplant rm inner; mv away inner; rmdir outside
// zdtm: refused-with symbolic link
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a mount of a directory that is a link to another by now") {
    SYS(mkdir("inner", 0755));
    zdtm::write_file("inner/file", "x");
    SYS(mkdir("point", 0755));
    const std::string here = get_current_dir_name();
    zdtm::enter_new_root();
    zdtm::mount_on("/proc", "proc");
    zdtm::mount_on("/dev", "tmpfs", "mode=755,size=64k");
    SYS(mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3)));
    zdtm::bind_on(here + "/inner", here + "/point");
    me.wait_for_check();

    CHECK(zdtm::read_file(here + "/point/file") == "x", "another directory is mounted");
}
