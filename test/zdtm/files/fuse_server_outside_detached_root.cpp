// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes unanswered
// zdtm: strangers yes
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "fuse.hpp"
#include "zdtm.hpp"

ZDTM("a tree of root with files of a detached FUSE mount, whose server doesn't answer, is not blocked") {
    if (mount("fusectl", "/sys/fs/fuse/connections", "fusectl", 0, nullptr) != 0 && errno != EBUSY) {
        zdtm::skip("the list of FUSE connections can't be mounted: %s", strerror(errno));
    }
    zdtm::FuseSibling server(zdtm::mount_fuse("/mnt"), zdtm::FuseSibling::Deaf::Unanswered);
    const int file = SYS(open("/mnt/file", O_RDONLY));
    SYS(umount2("/mnt", MNT_DETACH));
    server.turn_deaf();
    me.wait_for_check();

    server.answer_again();
    struct stat status {};
    SYS(fstat(file, &status));
    CHECK(status.st_size == 6, "size %ld", static_cast<long>(status.st_size));
    SYS(close(file));
    server.end();
}
