// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused, unanswered
// zdtm: strangers yes
// zdtm: dump-options --timeout 3
// zdtm: refused a file system that the tree uses doesn't answer
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "fuse.hpp"
#include "zdtm.hpp"

ZDTM("a FUSE server outside of the tree that stops answering doesn't block the tree forever") {
    zdtm::FuseSibling server(zdtm::mount_fuse("/mnt"), zdtm::FuseSibling::Deaf::Unread);
    const int file = SYS(open("/mnt/file", O_RDONLY));
    server.turn_deaf();
    me.wait_for_check();

    server.answer_again();
    struct stat status {};
    SYS(fstat(file, &status));
    CHECK(status.st_size == 6, "size %ld", static_cast<long>(status.st_size));
    SYS(close(file));
    SYS(umount2("/mnt", MNT_DETACH));
    server.end();
}
